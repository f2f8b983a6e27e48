package job

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive/state"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/evidence"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// started returns a world whose Run one has started: its pod claims the run if claimed.
func started(t *testing.T, claimed bool, change ...func(*v1alpha1.JobRun)) (*world, *Reconciler) {
	t.Helper()
	w := newWorld(t)
	r := w.process()
	w.run("one", change...)
	w.pass(r, 0)
	if claimed {
		w.claim()
		w.pass(r, 0)
	}
	return w, r
}

// A timeout stops a Run as a cancel does, and is told apart from one for ever; one that ended before is none (JOBS.md J7).
func TestTimeout(t *testing.T) {
	limited := func(o *v1alpha1.JobRun) { o.Spec.Timeout = &metav1.Duration{Duration: 30 * time.Second} }
	w, r := started(t, true, limited)
	result, err := r.Reconcile(t.Context(), request())
	require.NoError(t, err)
	assert.LessOrEqual(t, result.RequeueAfter, 30*time.Second)
	w.pass(r, 28*time.Second)
	assert.Empty(t, w.get("one").State.Timeout)
	w.pass(r, 2*time.Second)
	assert.Equal(t, v1alpha1.TimeoutPassed, w.get("one").State.Timeout)
	assert.Contains(t, w.of("one"), "Reconciling TimedOut: its process on node is being stopped")
	w.finish(143, "sha256:1")
	w.pass(r, time.Second)
	assert.Contains(t, w.of("one"), "Stalled TimedOut: its process was stopped (exit code 143); its state is committed")

	w, r = started(t, true, limited)
	w.finish(0, "sha256:1")
	w.pass(r, time.Hour)
	assert.Contains(t, w.of("one"), "Ready Succeeded")

	w, r = started(t, false, limited)
	w.pass(r, time.Hour)
	assert.Contains(t, w.of("one"), "Stalled TimedOut: it was stopped before its process started")
	assert.Empty(t, w.pods)
}

// A pod that ends before it claims the run is replaced, ever less often; a claimed one never is (JOBS.md J10).
func TestReplace(t *testing.T) {
	w, r := started(t, false)
	w.current().Over = true
	w.pass(r, 0)
	assert.Contains(t, w.of("one"), "Stalled CannotStart: its pod ended before it claimed the run, and another one is made; the run starts once that is corrected")
	w.pass(r, 4*time.Second)
	assert.Equal(t, int64(1), w.workspace().State.Fence)
	w.pass(r, time.Second)
	lock := w.workspace().State.Lock
	assert.Equal(t, int32(2), lock.Attempt)
	assert.Equal(t, int64(2), lock.Fence)
	assert.Len(t, w.pods, 1, "the first one is removed")
	w.current().Over = true
	w.pass(r, 0)
	w.pass(r, 9*time.Second)
	assert.Equal(t, int64(2), w.workspace().State.Fence)
	w.pass(r, time.Second)
	assert.Equal(t, int64(3), w.workspace().State.Fence)
	w.current().Obstacle = "ImagePullBackOff: manifest unknown"
	w.pass(r, time.Second)
	assert.Contains(t, w.of("one"), "CannotStart: ImagePullBackOff: manifest unknown; the run starts once that is corrected, and `orcon job cancel shop/one` ends it")
}

// An attempt that has not claimed, and whose node does not answer, is given to another one; of one that has claimed its
// renewals tell (JOBS.md J13).
func TestSilentNode(t *testing.T) {
	w, r := started(t, false)
	w.current().Silent, w.current().Obstacle = true, "RunNode lab does not answer"
	w.pass(r, 0)
	assert.Contains(t, w.of("one"), "Stalled CannotStart: RunNode lab does not answer; the run starts once that is corrected")
	w.pass(r, 5*time.Second)
	assert.Equal(t, int32(2), w.workspace().State.Lock.Attempt)
	assert.Len(t, w.pods, 1, "the first one is removed")

	w, r = started(t, true)
	w.current().Silent = true
	w.pass(r, time.Second)
	assert.Contains(t, w.of("one"), "Reconciling Running")
	assert.Equal(t, int32(1), w.workspace().State.Lock.Attempt)
}

// A claim that only the store knows is completed: the pod may run its process already (JOBS.md J10).
func TestCompletedClaim(t *testing.T) {
	w, r := started(t, false)
	w.record()
	w.current().Over = true
	w.cancel("one")
	w.pass(r, time.Hour)
	assert.Equal(t, "pod", w.workspace().State.Lock.Claimant.ID)
	assert.Contains(t, w.of("one"), "Stalled Vanished", "it is lost as any other")
}

// While a claim is on its way, nothing is written but the lock, neither a status that soon changes nor the claim itself; what
// goes wrong is shown at once.
func TestClaimWait(t *testing.T) {
	w := newWorld(t)
	w.claimWait = DefaultClaimWait
	r := w.process()
	w.pass(r, 0)
	w.run("one")
	made := w.made
	reconcile := func(after time.Duration) {
		w.clock += after
		_, err := r.Reconcile(t.Context(), request())
		require.NoError(t, err)
	}
	reconcile(0)
	assert.Equal(t, made+2, w.made, "the input and the lock")
	w.record()
	reconcile(DefaultClaimWait - 1)
	assert.Equal(t, made+2, w.made)
	w.claim()
	reconcile(0)
	assert.Contains(t, w.of("one"), "Reconciling Running")

	w.finish(0, "sha256:1")
	w.pass(r, 0)
	w.run("two")
	reconcile(0)
	w.record()
	reconcile(DefaultClaimWait)
	assert.Contains(t, w.of("two"), "Reconciling Running", "its keeper was cut off, and is told when it tries again")

	w.finish(0, "sha256:2")
	w.pass(r, 0)
	w.run("three")
	reconcile(0)
	assert.Empty(t, w.get("three").Status.Conditions)
	reconcile(DefaultClaimWait)
	assert.Contains(t, w.of("three"), "Reconciling PodPending: its pod waits for a node")

	w.claim()
	w.finish(0, "sha256:3")
	w.pass(r, 0)
	w.refuses = errors.New("exceeded quota: pods")
	w.run("four")
	_, err := r.Reconcile(t.Context(), request())
	require.ErrorContains(t, err, "exceeded quota")
	assert.Contains(t, w.of("four"), "Stalled CannotStart")
}

// A pod that is over without an end is lost at once; one that is not seen, when it stays so (JOBS.md J6).
func TestVanished(t *testing.T) {
	w, r := started(t, true)
	w.current().Over = true
	w.pass(r, 0)
	assert.Contains(t, w.of("one"), "Stalled Vanished: its pod ended without an outcome; its process may still run on node: decide with "+
		"`orcon job unlock shop/db --because TEXT --accept generation`")
	assert.Contains(t, shown(t, w.workspace().Status.Conditions), "Stalled NeedsRecovery")
	made := w.made
	w.pass(r, 24*time.Hour)
	assert.Equal(t, made, w.made, "nothing passes because time does")

	w, r = started(t, true)
	clear(w.pods)
	w.pass(r, time.Second)
	assert.Contains(t, w.of("one"), "Reconciling Running")
	w.pass(r, poll)
	assert.Contains(t, w.of("one"), "Stalled Vanished")
}

// A claimant counts as lost when no new renewal came for long enough, by the clock of this process alone (JOBS.md J6).
func TestSilent(t *testing.T) {
	w, r := started(t, true)
	for n := range int64(10) {
		w.signs[w.current().attempt.UID] = Sign{Fence: 1, Number: n + 1}
		w.pass(r, 59*time.Second)
	}
	assert.Contains(t, w.of("one"), "Reconciling Running")
	r = w.process()
	w.pass(r, 59*time.Second)
	w.pass(r, 59*time.Second)
	assert.Contains(t, w.of("one"), "Reconciling Running", "a new process knows nothing of the time before")
	w.pass(r, time.Second)
	assert.Contains(t, w.of("one"), "Stalled Silent: it sends no renewals")
	w.swap(func(now workspace.Workspace) (workspace.Workspace, error) {
		return now.Decide(workspace.Verdict{Remedy: workspace.Retry, Fence: 1, By: "ann"})
	})
	w.pass(r, time.Second)
	assert.Equal(t, 2, w.current().attempt.Number)
	assert.Len(t, w.pods, 1, "the first attempt is stopped")
}

// The lock of a template that is not exclusive is released after the takeover time, and the next Run begins; a renewal
// of another fence proves nothing (JOBS.md J6).
func TestExpire(t *testing.T) {
	w := newWorld(t)
	r := w.process()
	w.idempotent()
	w.run("one")
	w.run("two")
	w.pass(r, 0)
	w.claim()
	w.pass(r, 0)
	w.pass(r, time.Minute)
	assert.Contains(t, w.of("one"), "Reconciling Expiring: it sends no renewals: the lock of shop/db is released after 3m15s of silence")
	w.signs[w.current().attempt.UID] = Sign{Fence: 7, Number: 9}
	w.pass(r, 2*time.Minute+14*time.Second)
	assert.Equal(t, int64(1), w.workspace().State.Lock.Fence)
	w.pass(r, time.Second)
	assert.Contains(t, w.of("one"), "Stalled Lost")
	assert.Equal(t, v1alpha1.OutcomeUnknown, w.get("one").State.End.Outcome)
	assert.Equal(t, "two", w.current().attempt.Run)
	assert.Len(t, w.pods, 1, "what is left of the lost one is stopped")
}

// An archive whose end was lost with its keeper becomes an orphan when the lock of its run is released, and is not
// collected. An unreadable one is left, and the store is asked again if it does not answer (JOBS.md J6 and J9).
func TestExpireKeepsWhatWasUploaded(t *testing.T) {
	folder, packed := t.TempDir(), &bytes.Buffer{}
	require.NoError(t, os.WriteFile(filepath.Join(folder, "a"), []byte("late"), 0o600))
	summary, err := state.Capture(packed, folder, state.Options{Limit: 1 << 20})
	require.NoError(t, err)
	for content, orphans := range map[string]int{packed.String(): 1, "no archive": 0} {
		w := newWorld(t)
		r := w.process()
		w.idempotent()
		w.run("one")
		w.pass(r, 0)
		w.claim()
		w.pass(r, 0)
		key := blob.Key{Workspace: string(w.workspace().UID), Fence: 1, Name: evidence.StatePrefix + "x"}
		require.NoError(t, w.store.Put(t.Context(), key, strings.NewReader(content)))
		w.pass(r, 4*time.Minute)
		assert.Contains(t, w.of("one"), "Stalled Lost")
		got := w.workspace().State.Orphans
		require.Len(t, got, orphans)
		if orphans > 0 {
			assert.Equal(t, []string{key.String(), summary.Digest}, []string{got[0].Archive.Key, got[0].Archive.Digest})
		}
	}
}

// An executor that does not answer is no proof that a pod has gone, and a store that does not is none that nothing was
// claimed.
func TestBlind(t *testing.T) {
	w, r := started(t, true)
	w.blind = errors.New("the API server is away")
	for range 3 {
		w.clock += poll
		_, err := r.Reconcile(t.Context(), request())
		require.ErrorContains(t, err, "cannot look at attempt 1 of Run one: the API server is away")
	}
	assert.Contains(t, w.of("one"), "Reconciling Running")

	w, r = started(t, false)
	w.blind = errors.New("no quota")
	clear(w.pods)
	_, err := r.Reconcile(t.Context(), request())
	require.ErrorContains(t, err, "no quota")
}

// A Workspace is looked at again when something is due, however far that is from the usual look.
func TestDeadlines(t *testing.T) {
	again := func(r *Reconciler) time.Duration {
		t.Helper()
		result, err := r.Reconcile(t.Context(), request())
		require.NoError(t, err)
		return result.RequeueAfter
	}
	w, r := started(t, true)
	w.pass(r, 30*time.Second)
	assert.Equal(t, poll, again(r))
	w.pass(r, 28*time.Second)
	assert.Equal(t, 2*time.Second, again(r), "it is lost then")
	w.pass(r, 2*time.Second)
	assert.Zero(t, again(r), "a person decides")

	w = newWorld(t)
	r = w.process()
	w.idempotent()
	w.run("one")
	w.pass(r, 0)
	w.claim()
	w.pass(r, 0)
	w.pass(r, time.Minute)
	w.pass(r, 2*time.Minute+12*time.Second)
	assert.Equal(t, 3*time.Second, again(r), "its lock is released then")

	w, r = started(t, true, func(o *v1alpha1.JobRun) { o.Spec.Timeout = &metav1.Duration{Duration: 30 * time.Second} })
	w.pass(r, 28*time.Second)
	assert.InDelta(t, 2*time.Second, again(r), float64(time.Second), "its timeout passes then")
	w.finish(0, "")
	w.pass(r, 0)
	assert.Zero(t, again(r), "nothing is due")
}

// What cannot be started shows why, and is started once it can be.
func TestCannotStart(t *testing.T) {
	w := newWorld(t)
	r := w.process()
	w.run("one")
	require.NoError(t, w.live(r))
	clear(w.pods)
	w.refuses = errors.New("exceeded quota: pods")
	_, err := r.Reconcile(t.Context(), request())
	require.ErrorContains(t, err, "exceeded quota")
	assert.Contains(t, w.of("one"), "Stalled CannotStart: cannot start attempt 1: exceeded quota: pods; the run starts once that is corrected")
	w.refuses = nil
	w.pass(r, 0)
	assert.Contains(t, w.of("one"), "Reconciling PodPending")
}

// A person's push holds the lock as long as requests come.
func TestPush(t *testing.T) {
	w := newWorld(t)
	r := w.process()
	w.pass(r, 0)
	w.swap(func(now workspace.Workspace) (workspace.Workspace, error) {
		return now.Acquire(workspace.Admission{Run: workspace.Run{UID: "push", Name: "ann", Person: true}, Now: w.now})
	})
	w.run("one")
	w.pass(r, 0)
	assert.Contains(t, w.of("one"), "the push of ann")
	w.signs["push"] = Sign{Fence: 1, Number: 1}
	w.pass(r, job.DefaultTiming().Takeover()-time.Second)
	assert.Contains(t, w.of("one"), "the push of ann")
	w.pass(r, job.DefaultTiming().Takeover())
	assert.Equal(t, "one", w.current().attempt.Run)
}
