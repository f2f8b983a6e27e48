package job

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// planDigest is the digest of the plans of this test.
const planDigest = "sha256:plan"

// planned returns a world whose Workspace asks for approval, in which Run plan has left a plan.
func planned(t *testing.T) (*world, *Reconciler) {
	t.Helper()
	w := newWorld(t)
	o := &v1alpha1.JobTemplate{}
	require.NoError(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "tofu"}, o))
	o.Spec.Actions = append(o.Spec.Actions, v1alpha1.JobAction{Name: "plan", Entrypoint: []string{"/plan"}})
	require.NoError(t, w.client.Update(t.Context(), o))
	w.change(func(o *v1alpha1.JobWorkspace) { o.Spec.Approval = v1alpha1.ApprovalPlan })
	r := w.process()
	w.plan("plan")
	w.pass(r, 0)
	w.claim()
	w.leave("plan")
	w.pass(r, 0)
	require.Contains(t, w.of("plan"), "Ready Planned: its plan waits: `orcon job plan shop/plan` shows it, `orcon job approve shop/plan` has it applied")
	return w, r
}

// plan creates a Run of action plan, applies one that applies the plan of another.
func (w *world) plan(name string) {
	w.t.Helper()
	w.run(name, func(o *v1alpha1.JobRun) { o.Spec.Action = "plan" })
}

func (w *world) applies(name, plan string) {
	w.t.Helper()
	w.run(name, func(o *v1alpha1.JobRun) { o.Spec.Plan = plan })
}

// leave has the pod of the lock, which is that of a Run, end with a plan.
func (w *world) leave(name string) {
	w.t.Helper()
	p, input := w.current(), w.get(name).State.Input.Digest
	w.swap(func(now workspace.Workspace) (workspace.Workspace, error) {
		next, _, err := now.End(workspace.Capture{
			Run: now.Lock.Run, Fence: now.Lock.Fence, Base: now.Lock.Base, Outcome: job.Unchanged, Now: w.now,
			Plan: workspace.Plan{Blob: workspace.Blob{Digest: planDigest, Key: "k/plan", Fence: now.Lock.Fence}, Input: input},
		})
		return next, err
	})
	p.Over = true
}

// approve has a person approve a plan of Run plan.
func (w *world) approve(digest string) {
	w.t.Helper()
	w.create(&v1alpha1.JobApproval{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "approval-" + strings.TrimPrefix(digest, "sha256:")},
		Spec:       v1alpha1.JobApprovalSpec{Run: "plan", PlanDigest: digest, Author: "ann"},
	})
}

// JOBS.md J17: with approval Plan nothing runs but what plans, what checks, and what was approved, which runs once.
func TestApproval(t *testing.T) {
	w, r := planned(t)
	w.run("direct")
	w.approve("sha256:other")
	w.applies("early", "plan")
	w.applies("foreign", "two")
	w.pass(r, 0)
	assert.Contains(t, w.of("direct"), "Stalled Refused: cannot run deploy: it needs the approval of a plan: make one with `orcon job run shop/db --action plan`")
	assert.Contains(t, w.of("early"), "Stalled Refused: cannot apply the plan of Run plan: it needs the approval of a plan: `orcon job approve shop/plan`")
	assert.Contains(t, w.of("foreign"), "Run plan has made a newer one: `orcon job approve shop/plan`")
	w.approve(planDigest)
	w.applies("apply", "plan")
	w.applies("again", "plan")
	w.pass(r, 0)
	started := w.current().attempt
	assert.Equal(t, "apply", started.Run)
	assert.Equal(t, []string{"/deploy"}, started.Input.Entrypoint)
	assert.Equal(t, planDigest, started.Input.Plan)
	assert.Contains(t, w.of("again"), "Reconciling Waiting")
	w.claim()
	w.finish(0, "sha256:1")
	w.pass(r, 0)
	assert.Contains(t, w.of("apply"), "Ready Succeeded")
	assert.Contains(t, w.of("again"), "Stalled Refused: cannot start Run again: it is not the plan that waits: Run apply was admitted to apply it")
}

// JOBS.md J17: an approval that is withdrawn before its Run is admitted counts no more.
func TestApprovalWithdrawn(t *testing.T) {
	w, r := planned(t)
	w.run("check", func(o *v1alpha1.JobRun) { o.Spec.Action = "plan" })
	w.approve(planDigest)
	w.applies("apply", "plan")
	w.pass(r, 0)
	require.Contains(t, w.of("apply"), "Reconciling Waiting")
	require.Equal(t, planDigest, w.get("apply").State.Input.Plan)
	require.NoError(t, w.client.DeleteAllOf(t.Context(), &v1alpha1.JobApproval{}, client.InNamespace("shop")))
	w.claim()
	w.finish(0, "")
	w.pass(r, 0)
	assert.Contains(t, w.of("apply"), "Stalled Refused: cannot apply the plan of Run plan: it needs the approval of a plan: `orcon job approve shop/plan`")
	assert.Empty(t, w.workspace().State.Lock)
}

// JOBS.md J17: a plan is not applied once parameters or the state have changed: another one is made.
func TestPlanChanged(t *testing.T) {
	for label, tc := range map[string]struct {
		change func(w *world, r *Reconciler)
		says   string
	}{
		"Input": {func(w *world, _ *Reconciler) {
			w.change(func(o *v1alpha1.JobWorkspace) { o.Spec.Parameters = &runtime.RawExtension{Raw: []byte(`{"size": 3}`)} })
		}, "template, parameters or secrets have changed since it was made"},
		"State": {func(w *world, _ *Reconciler) {
			w.swap(func(now workspace.Workspace) (workspace.Workspace, error) {
				now.State = workspace.Generation{Number: 1, Blob: workspace.Blob{Digest: "sha256:1", Key: "k/1", Fence: 1}}
				return now, nil
			})
		}, "it was made for generation 0 of the state, and 1 is current"},
		"Queued": {func(w *world, r *Reconciler) { // the state changes while the Run waits for the lock
			w.run("check", func(o *v1alpha1.JobRun) { o.Spec.Action = "plan" })
			w.applies("apply", "plan")
			w.pass(r, 0)
			require.Contains(w.t, w.of("apply"), "Reconciling Waiting")
			w.claim()
			w.finish(0, "sha256:1")
		}, "it was made for generation 0 of the state, and 1 is current"},
	} {
		t.Run(label, func(t *testing.T) {
			w, r := planned(t)
			w.approve(planDigest)
			tc.change(w, r)
			if label != "Queued" {
				w.applies("apply", "plan")
			}
			w.pass(r, 0)
			again := replanner(w.get("apply"))
			assert.Contains(t, w.of("apply"), "Stalled PlanChanged: ")
			assert.Contains(t, w.of("apply"), tc.says)
			assert.Contains(t, w.of("apply"), "JobRun "+again+" plans again: `orcon job approve shop/"+again+"`")
			assert.Equal(t, v1alpha1.JobRunPhase("Rejected"), w.get("apply").State.End.Phase)
			assert.Equal(t, "plan", w.get(again).Spec.Action)
			assert.Equal(t, again, w.current().attempt.Run)
		})
	}
}

// A process that dies after each write has another one end the Run all the same, with one Run that plans again.
func TestPlanChangedAfterDeath(t *testing.T) {
	for writes := range 6 {
		w, _ := planned(t)
		w.approve(planDigest)
		w.change(func(o *v1alpha1.JobWorkspace) { o.Spec.Parameters = &runtime.RawExtension{Raw: []byte(`{"size": 3}`)} })
		w.applies("apply", "plan")
		w.writes = writes
		_, _ = w.process().Reconcile(t.Context(), request())
		w.writes = -1
		w.pass(w.process(), 0)
		assert.Contains(t, w.of("apply"), "Stalled PlanChanged", writes)
		var list v1alpha1.JobRunList
		require.NoError(t, w.client.List(t.Context(), &list))
		assert.Len(t, list.Items, 3, writes)
	}
}

// JOBS.md J18: the deletion of a Workspace needs no approval, and its destroy run applies no plan.
func TestDestroyNeedsNoApproval(t *testing.T) {
	w, r := planned(t)
	w.approve(planDigest)
	w.applies("apply", "plan")
	w.change(func(o *v1alpha1.JobWorkspace) { o.Spec.DeletionPolicy = v1alpha1.DeletionPolicyDestroy })
	w.pass(r, 0)
	w.claim()
	w.finish(0, "sha256:1")
	w.pass(r, 0)
	require.NoError(t, w.client.Delete(t.Context(), w.workspace()))
	w.pass(r, 0)
	destroys := w.current().attempt
	assert.Equal(t, []string{"/destroy"}, destroys.Input.Entrypoint)
	assert.Empty(t, destroys.Input.Plan)
	assert.False(t, destroys.Input.Plans())
}
