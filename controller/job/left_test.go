package job

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/evidence"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// anew makes Workspace db again.
func (w *world) anew() {
	w.t.Helper()
	w.create(&v1alpha1.JobWorkspace{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}, Spec: v1alpha1.JobWorkspaceSpec{Template: "tofu"}})
}

// A Workspace that is made anew under its name shows at once, and without a Run, that an earlier one left a state; nothing
// starts until a person decides. One whose state was destroyed leaves nothing (JOBS.md J18 and J20).
func TestStateIsLeft(t *testing.T) {
	w, r := started(t, true)
	w.finish(0, "sha256:1")
	w.pass(r, 0)
	w.delete(w.workspace())
	w.pass(r, 0)
	w.anew()
	w.pass(r, 0)
	assert.Contains(t, shown(t, w.workspace().Status.Conditions),
		"Stalled StoreAhead: the store is ahead: a JobWorkspace of the name shop/db, which is gone, left generation 1 there: take it over with "+
			"`orcon job state adopt shop/db --because TEXT`")
	w.run("two")
	w.pass(r, 0)
	assert.Contains(t, w.of("two"), "Reconciling Waiting: the store is ahead")
	w.swap(func(now workspace.Workspace) (workspace.Workspace, error) {
		return now.AcceptStore(workspace.Restored{By: "ann", Extent: workspace.Extent{Left: 1}, Now: w.now})
	})
	w.pass(r, 0)
	assert.Equal(t, int64(2), w.current().attempt.Fence)

	w, r = ran(t)
	w.delete(w.workspace())
	w.pass(r, 0)
	w.claim()
	w.finish(0, "sha256:2")
	w.pass(r, 0)
	w.anew()
	w.pass(w.process(), 0)
	assert.Contains(t, shown(t, w.workspace().Status.Conditions), "Ready Ready")
}

// A Workspace that is deleted by itself waits until the store has the record of what it leaves; one whose namespace goes
// does not wait, and the collector finds it.
func TestRecordFails(t *testing.T) {
	for label, together := range map[string]bool{"Alone": false, "Namespace": true} {
		t.Run(label, func(t *testing.T) {
			w, r := started(t, true)
			w.finish(0, "sha256:1")
			w.pass(r, 0)
			w.unwritten = errors.New("disk full")
			o := w.workspace()
			w.delete(o)
			if together {
				w.delete(namespace("shop"))
			}
			_ = w.live(r)
			assert.Equal(t, together, w.gone(o))
			if together {
				return
			}
			assert.Contains(t, shown(t, w.workspace().Status.Conditions), "Reconciling LetGo: cannot record the state that JobWorkspace shop/db leaves: disk full")
			w.unwritten = nil
			w.pass(r, 0)
			assert.True(t, w.gone(o))
		})
	}
}

// An object that was restored while no controller ran shows at once that the store is ahead (JOBS.md J20).
func TestRestoredIdle(t *testing.T) {
	w, r := started(t, true)
	old := w.workspace().State.DeepCopy()
	w.finish(0, "sha256:1")
	w.pass(r, 0)
	w.run("two")
	w.pass(r, 0)
	w.claim()
	w.finish(0, "sha256:2")
	w.pass(r, 0)
	old.Lock, old.LastEnd = nil, w.workspace().State.LastEnd
	w.change(func(o *v1alpha1.JobWorkspace) { o.State = old })
	w.delete(w.get("two"))
	w.pass(w.process(), 0)
	require.Contains(t, shown(t, w.workspace().Status.Conditions), "Stalled StoreAhead: the store is ahead: it holds generation 0 and fence 2")
}

// A run may still commit a state after a process has recorded the one before as what the Workspace leaves, and died. The
// record has the later state in the end (JOBS.md J18).
func TestRecordIsOld(t *testing.T) {
	w, r := started(t, true)
	w.finish(0, "sha256:1")
	w.run("two")
	w.pass(r, 0)
	w.claim()
	w.pass(r, 0)
	w.delete(namespace("shop"))
	o := w.workspace()
	w.delete(o)
	w.pass(r, 0)
	w.now, w.clock, w.writes = w.now.Add(4*time.Minute), w.clock+4*time.Minute, 0
	require.ErrorIs(t, w.live(w.process()), errDead, "it lets the Workspace go")
	w.writes = -1
	left, err := evidence.LeftBy(t.Context(), w.store, "shop/db")
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Equal(t, int64(1), left[0].Generation)
	w.finish(0, "sha256:2")
	w.pass(w.process(), 0)
	assert.True(t, w.gone(o))
	left, err = evidence.LeftBy(t.Context(), w.store, "shop/db")
	require.NoError(t, err)
	require.Len(t, left, 1)
	assert.Equal(t, int64(2), left[0].Generation)
	assert.Equal(t, "sha256:2", left[0].Archive.Digest)
}
