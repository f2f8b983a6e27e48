package job

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
)

// A Run is frozen, admitted, started, and ends by what its keeper records; the next one begins from its state. A settled
// Workspace writes nothing, and what carried the Runs out is gone (JOBS.md J1, J3 and J4).
func TestLife(t *testing.T) {
	w := newWorld(t)
	r := w.process()
	w.run("one")
	w.run("two")
	w.pass(r, 0)
	assert.Equal(t, "Reconciling PodPending: its pod waits for a node", w.of("one"))
	assert.Contains(t, w.of("two"), "Run one (attempt 1, fence 1) holds the lock of shop/db")
	assert.Equal(t, int32(1), w.workspace().Status.QueuedRuns)
	assert.Equal(t, []string{"/deploy"}, w.current().attempt.Input.Entrypoint)
	w.claim()
	w.pass(r, time.Second)
	assert.Equal(t, "Reconciling Running: it runs on node", w.of("one"))
	w.finish(0, "sha256:1")
	w.pass(r, time.Second)
	assert.Equal(t, "Ready Succeeded: it succeeded; its state is committed", w.of("one"))
	assert.Equal(t, v1alpha1.OutcomeCommitted, w.get("one").State.End.Outcome)
	assert.Empty(t, w.get("one").Finalizers)
	assert.Equal(t, int64(1), w.workspace().State.Lock.Base)
	w.pass(r, time.Second)
	w.claim()
	w.finish(3, "")
	w.pass(r, time.Second)
	assert.Contains(t, w.of("two"), "Stalled Failed: it failed with exit code 3")
	assert.Empty(t, w.pods)
	made := w.made
	w.pass(r, time.Hour)
	w.pass(w.process(), time.Hour)
	assert.Equal(t, made, w.made, "a settled Workspace writes nothing")
	assert.Equal(t, "Ready Ready: the lock is free, and generation 1 is current", shown(t, w.workspace().Status.Conditions))
}

// request is that for the Workspace of a world.
func request() reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "db"}}
}

// live reconciles until nothing is due, or the process dies.
func (w *world) live(r *Reconciler) error {
	for range 20 {
		made := w.made
		result, err := r.Reconcile(w.t.Context(), request())
		if err != nil {
			return err
		}
		if w.made == made && (result.RequeueAfter == 0 || result.RequeueAfter > soon) {
			return nil
		}
		if result.RequeueAfter <= soon {
			w.now, w.clock = w.now.Add(result.RequeueAfter), w.clock+result.RequeueAfter
		}
	}
	return errors.New("the controller does not settle")
}

// A controller that dies before any of its writes is followed by one that goes on from there: every Run ends as it
// would have, each generation has one committer, and nothing is left (JOBS.md J3, J4 and J8).
func TestDeaths(t *testing.T) {
	deaths := 0
	for writes := 0; ; writes++ {
		w := newWorld(t)
		w.writes = writes
		r := w.process()
		died := false
		alive := func() {
			t.Helper()
			if err := w.live(r); err != nil {
				require.ErrorIs(t, err, errDead)
				died, w.writes = true, -1
				r = w.process()
				require.NoError(t, w.live(r))
			}
		}
		w.run("one")
		w.run("two")
		w.run("three")
		w.run("four")
		alive()
		w.claim()
		alive()
		w.cancel("two")
		alive()
		w.finish(0, "sha256:1")
		alive()
		w.cancel("three")
		alive()
		w.claim()
		w.finish(0, "sha256:2")
		alive()
		assert.Contains(t, w.of("one"), "Ready Succeeded", writes)
		assert.Contains(t, w.of("two"), "Stalled Cancelled: it was cancelled before it started", writes)
		assert.Contains(t, w.of("three"), "Stalled Cancelled: it was stopped before its process started", writes)
		assert.Contains(t, w.of("four"), "Ready Succeeded", writes)
		o := w.workspace()
		assert.Equal(t, int64(2), o.State.Generation.Number, writes)
		assert.Equal(t, int64(1), o.State.Generation.Base, writes)
		assert.Nil(t, o.State.Lock, writes)
		assert.Empty(t, w.pods, writes)
		for _, name := range []string{"one", "two", "three", "four"} {
			assert.Empty(t, w.get(name).Finalizers, writes)
		}
		if !died {
			break
		}
		deaths++
	}
	assert.Greater(t, deaths, 20)
}

// After an outage of any length a Workspace is looked at again within seconds: its run may wait for that.
func TestRetries(t *testing.T) {
	pauses := retries()
	assert.Equal(t, 200*time.Millisecond, pauses.When(request()))
	for range 30 {
		assert.LessOrEqual(t, pauses.When(request()), 5*time.Second)
	}
}
