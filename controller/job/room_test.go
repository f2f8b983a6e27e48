package job

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// beside makes a Workspace beside shop/db, with a Run, and reconciles it once.
func (w *world) beside(r *Reconciler, name string) {
	w.t.Helper()
	w.create(&v1alpha1.JobWorkspace{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: v1alpha1.JobWorkspaceSpec{Template: "tofu"}})
	w.run("run-"+name, func(o *v1alpha1.JobRun) { o.Spec.Workspace = name })
	w.look(r, name)
}

// look reconciles a Workspace.
func (w *world) look(r *Reconciler, name string) {
	w.t.Helper()
	_, err := r.Reconcile(w.t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: name}})
	require.NoError(w.t, err)
}

// JOBS-DESIGN.md 17: no more Runs hold a lock than are permitted, also where the cache does not show those that were just
// admitted, and the next one goes on when one ends.
func TestMostRuns(t *testing.T) {
	for label, most := range map[string]run.Most{"Installation": {Installation: 2}, "Namespace": {Namespace: 2}} {
		t.Run(label, func(t *testing.T) {
			w := newWorld(t)
			r := w.process()
			r.Most = most
			cached, ok := r.Client.(client.WithWatch)
			require.True(t, ok)
			behind := true
			r.Client = interceptor.NewClient(cached, interceptor.Funcs{
				List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
					err := c.List(ctx, list, options...)
					if found, is := list.(*v1alpha1.JobWorkspaceList); is && behind {
						for i := range found.Items {
							found.Items[i].State = nil
						}
					}
					return err
				},
			})
			for _, name := range []string{"a", "b", "c"} {
				w.beside(r, name)
			}
			assert.Len(t, w.pods, 2)
			assert.Contains(t, w.of("run-c"), "under way, as many as -maxRuns")
			behind = false
			w.look(r, "c")
			assert.Len(t, w.pods, 2)
			o := &v1alpha1.JobWorkspace{}
			require.NoError(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "a"}, o))
			o.State.Lock.Recovery = &v1alpha1.JobRecovery{Reason: "Silent"}
			require.NoError(t, w.client.Update(t.Context(), o))
			w.look(r, "c")
			assert.Len(t, w.pods, 3, "a run that a person must decide about takes no room")
			assert.Contains(t, w.of("run-c"), "Reconciling Admitted")
		})
	}
}

// JOBS-DESIGN.md 17: a Workspace with a queue that never ends keeps no other one waiting for ever.
func TestRoomInTurn(t *testing.T) {
	w := newWorld(t)
	r := w.process()
	r.Most = run.Most{Installation: 1}
	for _, name := range []string{"one", "two", "three"} {
		w.run(name)
	}
	w.pass(r, 0)
	w.claim()
	w.beside(r, "b")
	assert.Contains(t, w.of("run-b"), "under way, as many as -maxRuns")
	w.clock += 2 * poll
	w.look(r, "b")
	w.finish(0, "")
	w.pass(r, time.Second)
	assert.Contains(t, w.of("two"), "other runs have waited longer")
	w.look(r, "b")
	assert.Contains(t, w.of("run-b"), "Reconciling Admitted")
	w.pass(r, poll)
	assert.Contains(t, w.of("two"), "under way, as many as -maxRuns")

	o := &v1alpha1.JobWorkspace{}
	require.NoError(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "b"}, o))
	o.State.Lock.Recovery = &v1alpha1.JobRecovery{Reason: "Silent"}
	require.NoError(t, w.client.Update(t.Context(), o))
	w.pass(r, poll)
	assert.Equal(t, "two", w.workspace().State.Lock.Run.Name)
}

// One that waits no longer, since its Run was cancelled, keeps none waiting.
func TestRoomOfOneThatIsGone(t *testing.T) {
	w := newWorld(t)
	r := w.process()
	r.Most = run.Most{Installation: 1}
	w.run("one")
	w.run("two")
	w.pass(r, 0)
	w.claim()
	w.beside(r, "b")
	w.cancel("run-b")
	w.clock += lapse + time.Second
	w.finish(0, "")
	w.pass(r, time.Second)
	assert.Equal(t, "two", w.workspace().State.Lock.Run.Name)
}
