package bundledeployment

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

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
