package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/evidence"
)

// manifest returns that of a fence in the store.
func (w *world) manifest(fence int64) (m evidence.Run) {
	w.t.Helper()
	in, err := w.store.Get(w.t.Context(), blob.Key{Workspace: string(w.workspace().UID), Fence: fence, Name: evidence.RunName})
	require.NoError(w.t, err)
	defer in.Close()
	require.NoError(w.t, json.NewDecoder(in).Decode(&m))
	return m
}

// Ten Runs stay as objects; the store has the input and the end of all that held the lock, before they may go
// (JOBS.md J18). Those that run or wait never go.
func TestOldRuns(t *testing.T) {
	w := newWorld(t)
	r := w.process()
	for i := range 12 {
		w.run(fmt.Sprint("r", i))
		w.pass(r, 0)
		w.claim()
		w.finish(0, fmt.Sprint("sha256:", i))
		w.pass(r, 0)
	}
	w.run("late")
	w.run("waiting")
	w.pass(r, 0)
	var list v1alpha1.JobRunList
	require.NoError(t, w.client.List(t.Context(), &list))
	assert.Len(t, list.Items, 12)
	for _, name := range []string{"r0", "r1"} {
		assert.True(t, w.gone(&v1alpha1.JobRun{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}), name)
	}
	m := w.manifest(1)
	assert.Equal(t, []string{"shop", "db", "r0"}, []string{m.Namespace, m.Workspace, m.Name})
	assert.Equal(t, []string{"/destroy"}, m.State.Input.Destroy.Entrypoint)
	assert.Equal(t, v1alpha1.OutcomeCommitted, m.State.End.Outcome)
	assert.Equal(t, *w.get("r11").State, w.manifest(12).State)
}

// A Run whose manifest cannot be stored keeps its finalizer; one that never held the lock needs none.
func TestManifestFails(t *testing.T) {
	w, r := started(t, true)
	w.run("two")
	w.cancel("two")
	w.finish(0, "")
	w.unwritten = errors.New("disk full")
	_ = w.live(r)
	_, err := r.Reconcile(t.Context(), request())
	require.ErrorContains(t, err, "cannot store the manifest of JobRun one: disk full")
	assert.NotEmpty(t, w.get("one").Finalizers)
	assert.Empty(t, w.get("two").Finalizers)
	w.unwritten = nil
	w.pass(r, 0)
	assert.Empty(t, w.get("one").Finalizers)
	assert.Equal(t, "one", w.manifest(1).Name)
}
