package bundledeployment

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

const clean = "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: clean, namespace: shop, annotations: {orcon.tengu.io/run-policy: OnUninstall}}\n"

// end gives the Jobs of the cluster a condition.
func (w *world) end(condition string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, o := range w.objects {
		if id.Kind == "Job" {
			o["status"] = map[string]any{"conditions": []any{map[string]any{"type": condition, "status": "True"}}}
		}
	}
}

// running returns the Jobs of the cluster.
func (w *world) running() (ids []domain.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.objects {
		if id.Kind == "Job" {
			ids = append(ids, id)
		}
	}
	return ids
}

// CONTENT.md X2: a deployment that is deleted runs its Jobs first, waits for them, and goes when they are complete.
func TestDeletionRunsFinalJobs(t *testing.T) {
	gone := func(w *world) bool {
		return apierrors.IsNotFound(w.client.Get(t.Context(), shop, &v1alpha1.BundleDeployment{}))
	}
	w := newWorld(t, configMaps("a")+clean)
	r := w.leader()
	w.run(r, "Healthy")
	require.Empty(t, w.running())
	require.NoError(t, w.client.Delete(t.Context(), w.deployment()))
	for range 5 {
		w.reconcile(r)
	}
	require.Len(t, w.running(), 1)
	assert.Contains(t, w.names(), "ConfigMap/a")
	assert.Equal(t, "Deleting", w.ready().Reason)
	assert.Contains(t, w.messages(), "runs before anything is deleted: is running (0 of 1 completed)")
	w.end("Failed")
	w.reconcile(w.leader())
	assert.Equal(t, "DeletionStuck", w.ready().Reason)
	assert.Contains(t, w.messages(), "delete the Job to have it run again, or leave it out")
	assert.Contains(t, w.names(), "ConfigMap/a")
	w.end("Complete")
	for range 5 {
		if !gone(w) {
			w.reconcile(w.leader())
		}
	}
	assert.True(t, gone(w))
	assert.Empty(t, w.names())
}

// A Job that spec names is not run, and none is in a namespace that goes too: it would never be created, and hold the
// namespace for ever.
func TestDeletionSkipsFinalJobs(t *testing.T) {
	for label, skip := range map[string]func(*world){
		"Named": func(w *world) {
			w.edit(func(d *v1alpha1.BundleDeployment) { d.Spec.Render.SkipHooks = []string{"Job/clean"} })
		},
		"Namespace": func(w *world) {
			namespace := &corev1.Namespace{}
			require.NoError(t, w.client.Get(t.Context(), client.ObjectKey{Name: shop.Namespace}, namespace))
			namespace.Finalizers = []string{"example.org/hold"}
			require.NoError(t, w.client.Update(t.Context(), namespace))
			require.NoError(t, w.client.Delete(t.Context(), namespace))
		},
	} {
		t.Run(label, func(t *testing.T) {
			w := newWorld(t, configMaps("a")+clean)
			w.run(w.leader(), "Healthy")
			skip(w)
			require.NoError(t, w.client.Delete(t.Context(), w.deployment()))
			before := w.writes
			for range 5 {
				if w.client.Get(t.Context(), shop, &v1alpha1.BundleDeployment{}) == nil {
					w.reconcile(w.leader())
				}
			}
			assert.Empty(t, w.names())
			assert.Equal(t, before, w.writes, "no Job was made")
			assert.True(t, apierrors.IsNotFound(w.client.Get(t.Context(), shop, &v1alpha1.BundleDeployment{})))
		})
	}
}
