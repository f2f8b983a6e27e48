package jobs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// apply notes outside which plan it applies.
const apply = count + `cat "$ORCON_APPROVED_PLAN/plan" >> "$OUT/applied"`

// newPlanned makes a world whose Workspace runs only what was approved, and in which users ann and ben may approve.
func newPlanned(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, apply, func(o *v1alpha1.JobWorkspace) { o.Spec.Approval = v1alpha1.ApprovalPlan })
	root, err := controlplane.Root()
	require.NoError(t, err)
	for _, file := range []string{"people.yaml", "state.yaml"} {
		w.cluster.Kubectl(t, "apply", "-f", filepath.Join(root, "deployment", "job-controller", file))
	}
	w.cluster.Kubectl(t, "-n", w.namespace, "create", "rolebinding", "approvers", "--clusterrole=orcon-job-approve", "--user=ann", "--user=ben")
	return w
}

// planning are the actions that make plans, and one that waits and changes nothing.
func planning() []v1alpha1.JobAction {
	return []v1alpha1.JobAction{
		{Name: "plan", Entrypoint: []string{"/bin/sh", "-c", `echo "$ORCON_RUN" > "$ORCON_PLAN/plan"`}},
		{Name: "plan-other", Entrypoint: []string{"/bin/sh", "-c", count}},
		{Name: "check", Entrypoint: []string{"/bin/sh", "-c", `until [ -e "$OUT/go" ]; do sleep 0.05; done`}},
	}
}

// act creates a Run of an action.
func (w *world) act(name, action string) {
	w.t.Helper()
	w.run(name, func(o *v1alpha1.JobRun) { o.Spec.Action = action })
}

// plan has Run one plan, and returns the digest of its plan.
func (w *world) plan() string {
	w.t.Helper()
	w.act("one", "plan")
	w.reaches("one", "Ready Planned")
	return w.workspace().State.Plan.Archive.Digest
}

// tryApprove has a user approve a plan of a Run in the name of an author.
func (w *world) tryApprove(user, author, name, digest string, flags ...string) (string, error) {
	file := filepath.Join(w.t.TempDir(), "approval.yaml")
	require.NoError(w.t, os.WriteFile(file, []byte(fmt.Sprintf("apiVersion: orcon.tengu.io/v1alpha1\nkind: JobApproval\n"+
		"metadata: {name: %s-%s}\nspec: {run: %s, planDigest: %q, author: %s}\n", name, user, name, digest, author)), 0o600))
	return w.cluster.Try(append([]string{"--as=" + user, "-n", w.namespace, "create", "-f", file}, flags...)...)
}

// approve has a user approve a plan of a Run, and returns the name of the Run that applies it.
func (w *world) approve(user, name, digest string) string {
	w.t.Helper()
	out, err := w.tryApprove(user, user, name, digest)
	require.NoError(w.t, err, out)
	o := &v1alpha1.JobApproval{}
	controlplane.Eventually(w.t, func() bool {
		err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name + "-" + user}, o)
		return err == nil && o.Status.Run != ""
	}, limit, "a Run applies the plan")
	return o.Status.Run
}

// A plan is applied once, as it was made, also if two persons approve it; neither a person without the right nor an approval
// of another plan has anything applied (JOBS.md J17).
func TestApproval(t *testing.T) {
	t.Parallel()
	w := newPlanned(t)
	digest := w.plan()
	w.run("direct")
	w.reaches("direct", "Stalled Refused: cannot run deploy: it needs the approval of a plan")
	out, err := w.tryApprove("stranger", "stranger", "one", digest)
	require.Error(t, err)
	assert.Contains(t, out, `User "stranger" cannot create resource "jobapprovals"`)
	controlplane.Eventually(t, func() bool {
		out, err := w.tryApprove("ann", "ben", "one", digest, "--dry-run=server")
		return err != nil && strings.Contains(out, "users approve only in their own name")
	}, limit, "the API server enforces the policy, which takes it some seconds")
	out, err = w.tryApprove("ann", "ann", "one", "sha256:"+strings.Repeat("0", 64))
	require.NoError(t, err, out)
	o := &v1alpha1.JobApproval{}
	controlplane.Eventually(t, func() bool {
		err := w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "one-ann"}, o)
		return err == nil && strings.HasPrefix(shown(o.Status.Conditions), "Stalled OtherPlan: JobRun one has left plan ")
	}, limit, "no plan has that digest")
	require.NoError(t, w.client.Delete(t.Context(), o))
	assert.Empty(t, w.out("applied"))

	w.act("check", "check")
	w.reaches("check", "Reconciling Running")
	first, second := w.approve("ann", "one", digest), w.approve("ben", "one", digest)
	w.reaches(first, "Reconciling Waiting")
	w.reaches(second, "Reconciling Waiting")
	w.write("go")
	controlplane.Eventually(t, func() bool {
		both := shown(w.get(first).Status.Conditions) + "\n" + shown(w.get(second).Status.Conditions)
		return strings.Contains(both, "Ready Succeeded: it succeeded; its state is committed") &&
			strings.Contains(both, "Stalled Refused: ") && strings.Contains(both, "it is not the plan that waits")
	}, limit, "one applies the plan, and the other one is refused")
	assert.Equal(t, "one\n", w.out("applied"), "it is applied once")
	assert.Equal(t, int64(1), w.workspace().State.Generation.Number)
}

// A plan that was approved is not applied once the state, the parameters or the template are others: another one is made
// (JOBS.md J17).
func TestPlanChanged(t *testing.T) {
	t.Parallel()
	for label, tc := range map[string]struct {
		change func(w *world)
		says   string
	}{
		"State": {func(w *world) {
			w.act("other", "plan-other")
			w.reaches("other", "Ready Succeeded: it succeeded; its state is committed")
		}, "it was made for generation 0 of the state, and 1 is current"},
		"Parameters": {func(w *world) {
			w.cluster.Kubectl(w.t, "-n", w.namespace, "patch", "jobworkspace", "db", "--type=merge", "-p", `{"spec":{"parameters":{"size":3}}}`)
		}, "template, parameters or secrets have changed since it was made"},
		"Template": {func(w *world) {
			o := &v1alpha1.JobTemplate{}
			require.NoError(w.t, w.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "script"}, o))
			o.ObjectMeta, o.Spec.Actions[0].Args = w.named("other"), []string{"more"}
			w.create(o)
			w.cluster.Kubectl(w.t, "-n", w.namespace, "patch", "jobworkspace", "db", "--type=merge", "-p", `{"spec":{"template":"other"}}`)
		}, "template, parameters or secrets have changed since it was made"},
	} {
		t.Run(label, func(t *testing.T) {
			w := newPlanned(t)
			digest := w.plan()
			tc.change(w)
			void := w.approve("ann", "one", digest)
			w.reaches(void, "Stalled PlanChanged: ")
			message := shown(w.get(void).Status.Conditions)
			assert.Contains(t, message, tc.says)
			_, again, _ := strings.Cut(message, "JobRun ")
			again, _, _ = strings.Cut(again, " plans again: ")
			w.reaches(again, "Ready Planned")
			assert.Empty(t, w.out("applied"))
			applies := w.approve("ben", again, w.workspace().State.Plan.Archive.Digest)
			w.reaches(applies, "Ready Succeeded")
			assert.Equal(t, again+"\n", w.out("applied"))
		})
	}
}

// An approval that is deleted while the Run that applies the plan waits for the lock has nothing applied (JOBS.md J17).
func TestApprovalWithdrawn(t *testing.T) {
	t.Parallel()
	w := newPlanned(t)
	digest := w.plan()
	w.act("check", "check")
	w.reaches("check", "Reconciling Running")
	applies := w.approve("ann", "one", digest)
	w.reaches(applies, "Reconciling Waiting")
	out, err := w.cluster.Try("--as=ann", "-n", w.namespace, "delete", "jobapproval", "one-ann")
	require.NoError(t, err, out)
	w.write("go")
	w.reaches("check", "Ready Succeeded")
	w.reaches(applies, "Stalled Refused: cannot apply the plan of Run one: it needs the approval of a plan: `orcon job approve "+w.namespace+"/one`")
	assert.Empty(t, w.out("applied"))
	again := w.approve("ben", "one", digest)
	w.reaches(again, "Ready Succeeded")
	assert.Equal(t, "one\n", w.out("applied"))
}

// A Run by hand that names a plan needs its approval too, and its creator cannot give it in another one's name.
func TestUnapprovedPlan(t *testing.T) {
	t.Parallel()
	w := newPlanned(t)
	w.plan()
	w.run("hand", func(o *v1alpha1.JobRun) { o.Spec.Plan = "one" })
	w.reaches("hand", "Stalled Refused: cannot apply the plan of Run one: it needs the approval of a plan: `orcon job approve "+w.namespace+"/one`")
	assert.Empty(t, w.out("applied"))
	w.cluster.Kubectl(t, "-n", w.namespace, "delete", "jobrun", "one")
	out, err := w.tryApprove("ann", "ann", "one", w.workspace().State.Plan.Archive.Digest)
	require.NoError(t, err, out)
	controlplane.Eventually(t, func() bool {
		o := &v1alpha1.JobApproval{}
		err := w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "one-ann"}, o)
		return apierrors.IsNotFound(err) || strings.HasPrefix(shown(o.Status.Conditions), "Stalled NoRun: there is no JobRun one")
	}, limit, "the plan went with its Run")
}
