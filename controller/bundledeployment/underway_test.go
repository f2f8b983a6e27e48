package bundledeployment

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// claim is the manifest of a volume, whose deletion a person confirms.
const claim = "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {}\n"

// A run goes on, to its end or its deadline, while a newer content waits for a person: its plan is proposed afterwards
// (BUNDLES.md 1 and 4).
func TestRunOutlivesAHeldPlan(t *testing.T) {
	for label, end := range map[string]func(w *world){
		"Succeeds": func(w *world) { w.sick = "" },
		"Fails":    func(*world) {},
	} {
		t.Run(label, func(t *testing.T) {
			w := newWorld(t, claim)
			r := w.leader()
			w.run(r, "Healthy")
			w.sick, w.source["all.yaml"] = "Deployment", claim+web
			w.edit(func(d *v1alpha1.BundleDeployment) { d.Spec.Sources[0].Reference = "configmaps:second" })
			w.run(r, string(domain.Progressing))
			require.Equal(t, 2, w.record.Begun().Number)
			w.source["all.yaml"] = web
			w.edit(func(d *v1alpha1.BundleDeployment) { d.Spec.Sources[0].Reference = "configmaps:third" })
			w.run(r, string(domain.Confirm))
			require.Equal(t, domain.StateActive, w.record.Begun().State)
			end(w)
			for range 200 {
				result := w.reconcile(r)
				if w.record.Begun().State != domain.StateActive {
					break
				}
				w.pass(max(result.RequeueAfter, time.Second))
			}
			assert.NotEqual(t, domain.StateActive, w.record.Begun().State, "revision 2 has succeeded or failed")
			w.sick = ""
			w.pass(r.Resync)
			w.run(r, string(domain.Confirm))
			require.NotNil(t, w.deployment().Status.Plan)
			assert.Equal(t, domain.StateProposed, w.record.Last().State)
			assert.Contains(t, w.names(), "PersistentVolumeClaim/data")
		})
	}
}

// A run goes on while an object of another owner is in the way of a newer content (BUNDLES.md 5).
func TestRunOutlivesAConflict(t *testing.T) {
	w := newWorld(t, web)
	w.sick = "Deployment"
	r := w.leader()
	w.run(r, string(domain.Progressing))
	foreign := domain.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "b", "namespace": "shop", "uid": "f"}}
	w.objects[foreign.ID()] = foreign
	w.source["all.yaml"] = web + configMaps("b")
	w.edit(func(d *v1alpha1.BundleDeployment) { d.Spec.Sources[0].Reference = "configmaps:second" })
	w.run(r, "Conflict")
	w.sick = ""
	for range 5 {
		w.pass(w.reconcile(r).RequeueAfter)
	}
	assert.Equal(t, domain.StateSucceeded, w.record.Last().State)
	assert.Equal(t, "Conflict", w.ready().Reason)
}
