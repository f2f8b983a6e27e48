package bundledeployment

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// claim is the manifest of a volume, whose deletion a person confirms.
const claim = "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {}\n"

// heldPlan returns a deployment whose revision 2 is under way while a newer content waits for a person.
func heldPlan(t *testing.T, change ...func(*v1alpha1.BundleDeployment)) (*world, *Reconciler) {
	t.Helper()
	w := newWorld(t, claim, change...)
	r := w.leader()
	w.run(r, "Healthy")
	w.sick, w.source["all.yaml"] = "Deployment", claim+web
	w.edit(func(d *v1alpha1.BundleDeployment) { d.Spec.Sources[0].Reference = "configmaps:second" })
	w.run(r, string(domain.Progressing))
	require.Equal(t, 2, w.record.Begun().Number)
	w.source["all.yaml"] = web + configMaps("c")
	w.edit(func(d *v1alpha1.BundleDeployment) { d.Spec.Sources[0].Reference = "configmaps:third" })
	w.run(r, string(domain.Confirm))
	require.NotNil(t, w.deployment().Status.Plan)
	require.Equal(t, domain.StateActive, w.record.Begun().State)
	return w, r
}

// A run goes on, to its end or its deadline, while a newer content waits for a person (BUNDLES.md 1, 4 and 6).
func TestRunOutlivesAHeldPlan(t *testing.T) {
	for label, test := range map[string]struct {
		sick string
		ends domain.State
	}{"Succeeds": {"", domain.StateSucceeded}, "Fails": {"Deployment", domain.StateFailed}} {
		t.Run(label, func(t *testing.T) {
			w, r := heldPlan(t)
			for w.sick = test.sick; w.record.Revisions[1].State == domain.StateActive; {
				require.Less(t, w.clock().Sub(w.record.Revisions[1].Started), time.Hour, "it stands still")
				w.pass(max(w.reconcile(r).RequeueAfter, time.Second))
			}
			assert.Equal(t, test.ends, w.record.Revisions[1].State)
			w.sick = ""
			w.pass(r.Resync)
			w.run(r, string(domain.Confirm))
			assert.Equal(t, domain.StateSucceeded, w.record.Begun().State, "it, or the way back")
			assert.Equal(t, domain.StateProposed, w.record.Last().State)
			assert.Contains(t, w.names(), "PersistentVolumeClaim/data")
			w.confirm()
			w.run(r, "Healthy")
			assert.Equal(t, "ConfigMap/c Deployment/web", w.names())
		})
	}
}

// confirm approves the plan that waits.
func (w *world) confirm() {
	w.t.Helper()
	p := w.deployment().Status.Plan
	require.NotNil(w.t, p)
	require.NoError(w.t, w.client.Create(w.t.Context(), &v1alpha1.Approval{
		ObjectMeta: metav1.ObjectMeta{Namespace: shop.Namespace, Name: "yes-" + strings.ToLower(p.Revision)},
		Spec:       v1alpha1.ApprovalSpec{Deployment: shop.Name, PlanDigest: p.Digest, Author: "admin", ConfirmedObjects: p.HeldObjects},
	}))
}

// A newer content interrupts the run once it is approved.
func TestApprovedPlanInterrupts(t *testing.T) {
	w, r := heldPlan(t)
	w.confirm()
	w.reconcile(r)
	assert.Equal(t, domain.StateSuperseded, w.record.Revisions[1].State)
	w.sick = ""
	w.run(r, "Healthy")
	assert.Equal(t, "ConfigMap/c Deployment/web", w.names())
}

// A run is remembered however many plans are proposed beside it.
func TestRunIsNotForgotten(t *testing.T) {
	w, r := heldPlan(t, func(d *v1alpha1.BundleDeployment) { d.Spec.HistoryLimit = 1 })
	require.Equal(t, 2, w.record.Begun().Number)
	w.sick = ""
	w.pass(r.Resync)
	w.reconcile(r)
	assert.Equal(t, domain.StateSucceeded, w.record.Begun().State)
	assert.Equal(t, 2, w.record.Begun().Number)
}

// A corrected content is carried out where there is no way back from the one that failed.
func TestCorrectedContentAfterALostWayBack(t *testing.T) {
	w := newWorld(t, configMaps("a"))
	r := w.leader()
	w.run(r, "Healthy")
	w.sick, w.source["all.yaml"] = "Deployment", web
	w.edit(func(d *v1alpha1.BundleDeployment) { d.Spec.Sources[0].Reference = "configmaps:second" })
	w.run(r, string(domain.Progressing))
	for id := range w.objects {
		if id.Kind == "ConfigMap" {
			w.objects[id] = domain.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
				"name": id.Name, "namespace": id.Namespace, "uid": "f"}}
		}
	}
	w.run(r, "RollbackFailed")
	w.sick, w.source["all.yaml"] = "", configMaps("b")
	w.edit(func(d *v1alpha1.BundleDeployment) { d.Spec.Sources[0].Reference = "configmaps:third" })
	w.run(r, "Healthy")
	assert.Contains(t, w.names(), "ConfigMap/b")
}
