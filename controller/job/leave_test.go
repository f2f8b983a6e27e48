package job

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
)

// ran returns a world whose Run one has left generation 1, and whose deletion destroys.
func ran(t *testing.T) (*world, *Reconciler) {
	t.Helper()
	w, r := started(t, true)
	w.finish(0, "sha256:1")
	w.change(func(o *v1alpha1.JobWorkspace) { o.Spec.DeletionPolicy = v1alpha1.DeletionPolicyDestroy })
	w.pass(r, 0)
	return w, r
}

// delete deletes an object.
func (w *world) delete(o client.Object) {
	w.t.Helper()
	require.NoError(w.t, w.client.Delete(w.t.Context(), o))
}

// destroyRun returns the destroy run of the Workspace; nil for none.
func (w *world) destroyRun() *v1alpha1.JobRun {
	w.t.Helper()
	var list v1alpha1.JobRunList
	require.NoError(w.t, w.client.List(w.t.Context(), &list, client.MatchingLabels{v1alpha1.DestroyLabel: "db"}))
	if len(list.Items) == 0 {
		return nil
	}
	require.Len(w.t, list.Items, 1)
	return &list.Items[0]
}

// A Workspace that is deleted stops its run, waits for its end, and goes; Runs that wait end (JOBS.md J18).
func TestRetain(t *testing.T) {
	w, r := started(t, true)
	w.run("two")
	o := w.workspace()
	w.delete(o)
	w.pass(r, 0)
	assert.Contains(t, w.of("one"), "Reconciling Cancelled: its process on node is being stopped")
	assert.Contains(t, w.of("two"), "Stalled Cancelled: it was cancelled before it started")
	assert.Contains(t, shown(t, w.workspace().Status.Conditions), "Reconciling AwaitRun: the lock is held: Run one")
	w.finish(143, "sha256:1")
	w.pass(r, 0)
	assert.True(t, w.gone(o))
	assert.Nil(t, w.destroyRun())
	assert.Contains(t, w.of("one"), "Stalled Cancelled: its process was stopped (exit code 143); its state is committed")
	assert.Empty(t, w.get("one").Finalizers)
	assert.Empty(t, w.pods)
}

// A Workspace that asks for it is destroyed by the input of its last run, also when the template is gone, by a controller
// that may die before any of its writes (JOBS.md J18).
func TestDestroy(t *testing.T) {
	deaths := 0
	for writes := 0; ; writes++ {
		w, _ := ran(t)
		w.writes = writes
		r, died := w.process(), false
		alive := func() {
			t.Helper()
			if err := w.live(r); err != nil {
				require.ErrorIs(t, err, errDead)
				died, w.writes, r = true, -1, nil
				r = w.process()
				require.NoError(t, w.live(r))
			}
		}
		w.delete(&v1alpha1.JobTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "tofu"}})
		o := w.workspace()
		w.delete(o)
		alive()
		assert.Equal(t, []string{"/destroy"}, w.current().attempt.Input.Entrypoint)
		w.claim()
		alive()
		assert.Contains(t, shown(t, w.workspace().Status.Conditions), "Reconciling AwaitRun")
		w.finish(0, "sha256:2")
		alive()
		assert.True(t, w.gone(o), writes)
		assert.Contains(t, shown(t, w.destroyRun().Status.Conditions), "Ready Succeeded", writes)
		assert.Empty(t, w.destroyRun().Finalizers, writes)
		assert.Empty(t, w.pods, writes)
		if !died {
			break
		}
		deaths++
	}
	assert.Greater(t, deaths, 8)
}

// A destroy run that fails keeps the Workspace until a person runs another one, or lets everything stay (JOBS.md J18).
func TestDestroyFails(t *testing.T) {
	w, r := ran(t)
	o := w.workspace()
	w.delete(o)
	w.pass(r, 0)
	w.claim()
	w.finish(3, "")
	w.pass(r, 0)
	assert.Contains(t, shown(t, w.workspace().Status.Conditions),
		"Stalled AwaitPerson: the destroy run failed: `orcon job run shop/db --action destroy` tries again")
	w.run("again", func(o *v1alpha1.JobRun) { o.Spec.Action = "destroy" })
	w.run("other")
	w.pass(r, time.Second)
	assert.Contains(t, w.of("other"), "Stalled Cancelled")
	assert.Equal(t, "again", w.current().attempt.Run)
	w.claim()
	w.finish(3, "")
	w.pass(r, 0)
	assert.Contains(t, shown(t, w.workspace().Status.Conditions), "Stalled AwaitPerson")
	w.change(func(o *v1alpha1.JobWorkspace) { o.Spec.DeletionPolicy = "Retain" })
	w.pass(r, 0)
	assert.True(t, w.gone(o))
}

// Nothing is destroyed if more than the Workspace is being deleted, or if nothing ever ran (JOBS.md J18).
func TestNothingIsDestroyed(t *testing.T) {
	definition := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "jobworkspaces.orcon.tengu.io"}}
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	for label, beside := range map[string]client.Object{
		"Namespace":  &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}},
		"Orcon":      &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "orcon"}},
		"Definition": definition,
	} {
		t.Run(label, func(t *testing.T) {
			w, r := ran(t)
			w.run("two")
			w.pass(r, 0)
			w.claim()
			w.pass(r, 0)
			o := w.workspace()
			w.delete(beside)
			w.delete(o)
			w.pass(r, 0)
			if label != "Orcon" {
				assert.False(t, w.gone(o), "its run may still store its state")
				assert.Contains(t, shown(t, w.workspace().Status.Conditions), "Reconciling AwaitRun")
				assert.Equal(t, v1alpha1.CancelRequested, w.get("two").Spec.Cancel)
				w.pass(r, 4*time.Minute)
			}
			assert.True(t, w.gone(o))
			assert.Nil(t, w.destroyRun())
			assert.Contains(t, w.of("two"), "Stalled Lost: its JobWorkspace was deleted")
			assert.Equal(t, v1alpha1.OutcomeUnknown, w.get("two").State.End.Outcome)
			assert.Empty(t, w.get("two").Finalizers)
			assert.Empty(t, w.pods)
		})
	}
	w := newWorld(t)
	w.change(func(o *v1alpha1.JobWorkspace) { o.Spec.DeletionPolicy = v1alpha1.DeletionPolicyDestroy })
	r := w.process()
	w.pass(r, 0)
	o := w.workspace()
	w.delete(o)
	w.pass(r, 0)
	assert.True(t, w.gone(o))
}

// More than five destroys within a minute wait for a person, also when the minute is over (JOBS.md J18).
func TestManyDestroys(t *testing.T) {
	w, r := ran(t)
	for i := range 5 {
		w.create(&v1alpha1.JobRun{ObjectMeta: metav1.ObjectMeta{
			Namespace: "other", Name: fmt.Sprint("d", i), Labels: map[string]string{v1alpha1.DestroyLabel: fmt.Sprint("w", i)},
		}})
	}
	w.now = w.now.Add(time.Second)
	w.delete(w.workspace())
	for _, after := range []time.Duration{0, time.Hour} {
		w.pass(r, after)
		assert.Contains(t, shown(t, w.workspace().Status.Conditions), "Stalled AwaitConsent: 5 Workspaces were destroyed within a minute")
		assert.Nil(t, w.destroyRun())
	}
	w.change(func(o *v1alpha1.JobWorkspace) {
		o.Annotations = map[string]string{v1alpha1.ConsentKey: v1alpha1.ConsentDestroy}
	})
	w.pass(r, 0)
	assert.NotNil(t, w.destroyRun())
	assert.Contains(t, shown(t, w.workspace().Status.Conditions), "Reconciling AwaitRun")
}

// A template without action destroy cannot be destroyed, which the Workspace shows with the cure (JOBS.md J18).
func TestNoDestroy(t *testing.T) {
	w := newWorld(t)
	o := &v1alpha1.JobTemplate{}
	require.NoError(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "tofu"}, o))
	o.Spec.Actions = o.Spec.Actions[:1]
	require.NoError(t, w.client.Update(t.Context(), o))
	r := w.process()
	w.run("one")
	w.pass(r, 0)
	w.claim()
	w.finish(0, "")
	w.change(func(o *v1alpha1.JobWorkspace) { o.Spec.DeletionPolicy = v1alpha1.DeletionPolicyDestroy })
	w.delete(w.workspace())
	w.pass(r, 0)
	assert.Contains(t, shown(t, w.destroyRun().Status.Conditions), "Stalled Refused: the template of the last run has no action destroy")
	assert.Contains(t, shown(t, w.workspace().Status.Conditions), "Stalled AwaitPerson")
	assert.True(t, strings.HasPrefix(w.destroyRun().Name, "db-"))
}

// A Workspace that was made anew under its name has nothing to do with the Runs of the one before.
func TestMadeAnew(t *testing.T) {
	w, r := started(t, true)
	o := w.workspace()
	o.Finalizers = nil
	require.NoError(t, w.client.Update(t.Context(), o))
	w.delete(o)
	w.create(&v1alpha1.JobWorkspace{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}, Spec: v1alpha1.JobWorkspaceSpec{Template: "tofu"}})
	w.pass(r, 0)
	assert.Contains(t, w.of("one"), "Stalled Lost: its JobWorkspace was deleted")
	assert.Empty(t, w.pods)
	w.run("two")
	w.pass(r, 0)
	assert.Equal(t, int64(1), w.current().attempt.Fence)
}
