package jobs

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// count adds a line to the state, and shows how many there are.
const count = `echo line >> "$ORCON_STATE/lines"; cp "$ORCON_STATE/lines" "$OUT/$ORCON_RUN"; `

// patient runs until it is stopped, and then ends well.
const patient = count + `trap 'echo stopped >> "$ORCON_STATE/lines"; exit 0' TERM; while :; do sleep 0.05; done`

// A Run finds the state that the one before has left; nothing is left of their processes (JOBS.md J1, J3 and J9).
func TestState(t *testing.T) {
	t.Parallel()
	w := newWorld(t, count)
	w.run("one")
	w.next("one")
	w.run("two")
	w.reaches("one", "Ready Succeeded: it succeeded; its state is committed")
	w.reaches("two", "Ready Succeeded: it succeeded; its state is committed")
	assert.Equal(t, "line\n", w.out("one"))
	assert.Equal(t, "line\nline\n", w.out("two"))
	assert.Equal(t, int64(2), w.workspace().State.Generation.Number)
	controlplane.Eventually(t, func() bool {
		left, err := filepath.Glob(filepath.Join(w.executor.Folder, "*"))
		return err == nil && len(left) == 0 && len(w.get("one").Finalizers)+len(w.get("two").Finalizers) == 0
	}, limit, "the processes and their folders are gone")
}

// Each run has the variables of the installation, checkpoints as often as its Workspace has them, and a state that is too
// large for it is an orphan (JOBS.md J12, J15).
func TestSettings(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `printf %s "$VAULT_ADDR" > "$OUT/$ORCON_RUN"; head -c 100000 /dev/urandom > "$ORCON_STATE/lines"
until [ -e "$OUT/grow" ]; do sleep 0.05; done; head -c 2000000 /dev/urandom > "$ORCON_STATE/more"`, func(o *v1alpha1.JobWorkspace) {
		o.Spec.State = &v1alpha1.JobStatePolicy{MaxSize: "1Mi", CheckpointInterval: &metav1.Duration{Duration: time.Second}}
	})
	w.run("one")
	controlplane.Eventually(t, func() bool { o := w.workspace(); return o.State != nil && o.State.Checkpoint != nil }, limit, "a checkpoint")
	assert.Equal(t, "https://vault", w.out("one"))
	w.write("grow")
	w.reaches("one", "Stalled StateTooLarge: its process has ended (exit code 0), and its state is too large, and kept as an orphan")
	assert.Len(t, w.workspace().State.Orphans, 1)
	for _, size := range []string{"1023Ki", "513Mi", "0"} {
		err := w.edit(func(o *v1alpha1.JobWorkspace) { o.Spec.State.MaxSize = size })
		assert.ErrorContains(t, err, `spec.state.maxSize: Invalid value: "`+size+`": use 1Mi to 512Mi`)
	}
}

// A cancel and a timeout stop the program, and its state is kept (JOBS.md J7).
func TestStop(t *testing.T) {
	t.Parallel()
	w := newWorld(t, patient)
	w.run("one")
	w.reaches("one", "Reconciling Running")
	controlplane.Eventually(t, func() bool { return w.out("one") != "" }, limit, "the program runs")
	o := w.get("one")
	before := client.MergeFrom(o.DeepCopy())
	o.Spec.Cancel = v1alpha1.CancelRequested
	require.NoError(t, w.client.Patch(t.Context(), o, before))
	w.reaches("one", "Stalled Cancelled: its process has ended (exit code 0); its state is committed")
	// The timeout counts from the admission: the program has to begin before it passes.
	w.run("two", func(o *v1alpha1.JobRun) { o.Spec.Timeout = &metav1.Duration{Duration: 10 * time.Second} })
	w.reaches("two", "Stalled TimedOut: its process has ended (exit code 0); its state is committed")
	assert.Equal(t, "line\nstopped\nline\n", w.out("two"))
	assert.Equal(t, v1alpha1.TimeoutPassed, w.get("two").State.Timeout)
	w.run("three")
	controlplane.Eventually(t, func() bool { return w.out("three") != "" }, limit, "the program runs")
	require.NoError(t, w.client.Delete(t.Context(), w.get("three")))
	controlplane.Eventually(t, func() bool {
		return apierrors.IsNotFound(w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "three"}, &v1alpha1.JobRun{}))
	}, limit, "a Run that is deleted ends, and goes")
	assert.Equal(t, int64(3), w.workspace().State.Generation.Number)
}

// A file of a run is a key of a Secret or a join token, and the API server names what is wrong (JOBS-DESIGN.md 16).
func TestSecretOrToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, count)
	try := func(secret v1alpha1.JobSecret) error {
		o := &v1alpha1.JobWorkspace{ObjectMeta: w.named("other"), Spec: v1alpha1.JobWorkspaceSpec{Template: "script"}}
		o.Spec.Secrets = []v1alpha1.JobSecret{secret}
		return w.client.Create(t.Context(), o, client.DryRunAll)
	}
	token := &v1alpha1.JobJoinToken{Node: "lab-1"}
	require.NoError(t, try(v1alpha1.JobSecret{Name: "a", JoinToken: token}))
	require.NoError(t, try(v1alpha1.JobSecret{Name: "a", Secret: "db", Key: "password"}))
	const either, both = "name secret and key, or joinToken instead", "secret and key belong together: name both"
	require.ErrorContains(t, try(v1alpha1.JobSecret{Name: "a"}), either)
	require.ErrorContains(t, try(v1alpha1.JobSecret{Name: "a", Secret: "db", Key: "password", JoinToken: token}), either)
	require.ErrorContains(t, try(v1alpha1.JobSecret{Name: "a", Secret: "db"}), both)
	require.ErrorContains(t, try(v1alpha1.JobSecret{Name: "a", Key: "password", JoinToken: token}), both)
	require.ErrorContains(t, try(v1alpha1.JobSecret{Name: "a", JoinToken: &v1alpha1.JobJoinToken{}}), "spec.secrets[0].joinToken.node")
}

// Two Runs at once do what the concurrency says (JOBS.md J1).
func TestConcurrency(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ two, three string }{
		"Queue":           {"Reconciling Waiting", "Reconciling Waiting"},
		"Reject":          {"Stalled Rejected", "Stalled Rejected"},
		"SupersedeQueued": {"Stalled Superseded", "Reconciling Waiting"},
	}
	for policy, tc := range tests {
		t.Run(policy, func(t *testing.T) {
			w := newWorld(t, patient, func(o *v1alpha1.JobWorkspace) { o.Spec.Concurrency = policy })
			w.run("one")
			w.reaches("one", "Reconciling Running")
			w.run("two")
			w.reaches("two", "")
			w.next("two")
			w.run("three")
			w.reaches("two", tc.two)
			w.reaches("three", tc.three)
		})
	}
}

// A keeper that is killed is lost after the time that the Workspace says; a person decides (JOBS.md J6).
func TestLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, patient, func(o *v1alpha1.JobWorkspace) { o.Spec.LostAfter = &metav1.Duration{Duration: 2 * time.Second} })
	w.run("one")
	w.reaches("one", "Reconciling Running")
	controlplane.Eventually(t, func() bool { return w.out("one") != "" }, limit, "the program runs")
	pids, err := filepath.Glob(filepath.Join(w.executor.Folder, "*", "keeper.pid"))
	require.NoError(t, err)
	require.Len(t, pids, 1)
	w.kill(pids[0])
	w.reaches("one", "Stalled Silent: it sends no renewals; its process may still run on ")
	assert.Contains(t, shown(w.get("one").Status.Conditions), "decide with `orcon job unlock "+w.namespace+"/db --because TEXT --accept generation`")
	controlplane.Eventually(t, func() bool { return w.workspace().Status.Phase == "NeedsRecovery" }, limit)
	w.run("two")
	w.reaches("two", "Reconciling Waiting")
}

// A run goes on while no controller runs, and is followed to its end by the next one (JOBS.md J8).
func TestRestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, count+`until [ -e "$OUT/go" ]; do sleep 0.05; done`)
	w.run("one")
	w.reaches("one", "Reconciling Running")
	w.stop()
	w.run("two")
	w.start()
	w.reaches("two", "Reconciling Waiting")
	w.write("go")
	w.reaches("one", "Ready Succeeded")
	w.reaches("two", "Ready Succeeded")
	assert.Equal(t, int64(2), w.workspace().State.Generation.Number)
	assert.Equal(t, int64(2), w.workspace().State.Fence, "no attempt was made twice")
}

// A Workspace that is deleted destroys what it has made, although its template is gone; if its namespace is deleted,
// it does not (JOBS.md J18).
func TestDelete(t *testing.T) {
	t.Parallel()
	for label, with := range map[string]bool{"Alone": false, "Namespace": true} {
		t.Run(label, func(t *testing.T) {
			w := newWorld(t, count, func(o *v1alpha1.JobWorkspace) { o.Spec.DeletionPolicy = v1alpha1.DeletionPolicyDestroy })
			w.run("one")
			w.reaches("one", "Ready Succeeded")
			require.NoError(t, w.client.Delete(t.Context(), &v1alpha1.JobTemplate{ObjectMeta: w.named("script")}))
			if with {
				w.cluster.Kubectl(t, "delete", "namespace", w.namespace, "--wait=false")
			}
			require.NoError(t, w.client.Delete(t.Context(), w.workspace()))
			controlplane.Eventually(t, func() bool {
				return apierrors.IsNotFound(w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "db"}, &v1alpha1.JobWorkspace{}))
			}, limit, "it goes")
			assert.Equal(t, !with, w.out("destroyed") == "line\n")
		})
	}
}
