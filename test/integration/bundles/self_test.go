package bundles

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bundle "gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/fleet"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/integrationset"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// asManager has the controller run as an integration of the data.
func asManager(r *fleet.Reconciler, namespace string) {
	r.Self = integrationset.Self{Integration: "integrations-manager", Namespace: namespace, Images: []string{"orcon:1"}}
}

// The entry of the manager itself is added and changed like any other. A removal waits for a person, whatever the guard
// allows, and deletes what the entry made once it is confirmed (FLEET.md O6).
func TestFleetManagerOfItself(t *testing.T) {
	t.Parallel()
	w := newFleet(t, asManager)
	w.declares("github", ordinary)
	hundred := int32(100)
	w.set.Spec.Guard = v1alpha1.IntegrationGuard{MaxWorkloads: &hundred, MaxPercent: &hundred}
	require.NoError(t, w.admin.Create(w.ctx, w.set))
	w.becomes("MembersReady")

	w.declares("integrations-manager", ordinary)
	controlplane.Eventually(t, func() bool { return w.stamped()["qr-integrations-manager"] == "#ops " }, soon)
	w.becomes("MembersReady")
	own := w.members()["integrations-manager"].Spec
	assert.Equal(t, bundle.OnFailureKeep, own.Rollback.OnFailure)
	assert.Contains(t, own.Prune.ConfirmKinds, "Deployment")

	w.declares("integrations-manager", "spec: {extraArgs: -resync=5m, resources: {limits: {memory: 1Mi}}}")
	controlplane.Eventually(t, func() bool { return w.stamped()["qr-integrations-manager"] == "#ops -resync=5m" }, soon)
	w.becomes("MembersReady")

	w.declares("integrations-manager")
	says := w.becomes("RemovalHeld")
	assert.Contains(t, says, "1 of 2 workloads would go: integrations-manager in /ns.yml runs this controller itself: put it back into the data, or "+
		"confirm: kubectl annotate integrationset fleet -n "+w.namespace+" --overwrite orcon.tengu.io/confirm="+w.set.Status.Removal.Digest)
	assert.Contains(t, w.stamped(), "qr-integrations-manager")

	w.change(func() { w.set.Annotations = map[string]string{v1alpha1.ConfirmKey: w.set.Status.Removal.Digest} })
	controlplane.Eventually(t, func() bool { return len(w.stamped()) == 2 }, soon)
	w.becomes("MembersReady")
	assert.NotContains(t, w.stamped(), "qr-integrations-manager")
}

// While a Deployment with another image runs under the manager's name, a set only plans; it goes on by itself once the
// Deployment has the manager's image (FLEET.md O6).
func TestFleetBesideAnotherManager(t *testing.T) {
	t.Parallel()
	w := newFleet(t, asManager)
	w.declares("github", ordinary)
	labels := map[string]string{"app": "qontract-reconcile-integrations-manager"}
	other := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: labels["app"]},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "int", Image: "quay.io/app-sre/qontract-reconcile:1", Env: []corev1.EnvVar{{Name: "INTEGRATION_NAME", Value: "integrations-manager"}},
			}}},
		}},
	}
	require.NoError(t, w.admin.Create(w.ctx, other))
	require.NoError(t, w.admin.Create(w.ctx, w.set))
	assert.Contains(t, w.becomes("OtherManager"), "Deployment qontract-reconcile-integrations-manager in namespace "+w.namespace+
		" runs as integrations-manager too, with image quay.io/app-sre/qontract-reconcile:1")
	assert.Empty(t, w.members())

	now := other.DeepCopy()
	now.Spec.Template.Spec.Containers[0].Image = "orcon:2"
	require.NoError(t, w.admin.Patch(w.ctx, now, client.StrategicMergeFrom(other)))
	w.becomes("MembersReady")
	assert.Contains(t, w.stamped(), "qr-github")
}

// A controller that only plans writes no member, and its set says what it would write (FLEET.md O6).
func TestFleetDryRun(t *testing.T) {
	t.Parallel()
	w := newFleet(t, func(r *fleet.Reconciler, _ string) { r.DryRun, r.Environment = true, "prod" })
	w.declares("github", ordinary)
	w.set.Spec.Environments = nil
	require.NoError(t, w.admin.Create(w.ctx, w.set))
	assert.Contains(t, w.becomes("DryRun"), "it would create 2 members, update 0 and delete 0")
	assert.Empty(t, w.members())
}
