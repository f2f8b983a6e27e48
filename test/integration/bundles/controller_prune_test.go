package bundles

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// What left the bundle and does not go keeps nobody from what is wanted next, and is named
// until it is gone (BUNDLES.md 7).
func TestDeploymentLeavesSomethingStuck(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	d := w.bundle(configMap("a", "1") + configMap("b", "1"))
	require.NoError(t, w.admin.Create(w.ctx, d))
	w.ready(d, "Healthy")
	b := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "b"}}
	hold := func(finalizers ...string) {
		require.NoError(t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(b), b))
		b.Finalizers = finalizers
		require.NoError(t, w.admin.Update(w.ctx, b))
	}
	hold("example.org/backup")
	for _, value := range []string{"2", "3"} {
		w.source("content-shop", configMap("a", value))
		controlplane.Eventually(t, func() bool { return w.configMaps()["a"]["k"] == value }, soon)
	}
	controlplane.Eventually(t, func() bool {
		require.NoError(t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(d), d))
		return d.Status.HealthyRevision == 3 && len(d.Status.Waits) == 1
	}, soon)
	assert.Equal(t, "ConfigMap "+w.namespace+"/b", d.Status.Waits[0].Object)
	assert.Contains(t, d.Status.Waits[0].Message, "example.org/backup")
	assert.Contains(t, w.ready(d, "Healthy"), "; waiting for ConfigMap "+w.namespace+"/b, which is being deleted")
	hold()
	controlplane.Eventually(t, func() bool {
		require.NoError(t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(d), d))
		return len(d.Status.Waits) == 0
	}, soon)
	assert.NotContains(t, w.configMaps(), "b")
}

// A BundleRevision that is not the deployment's is never taken for its own: it goes on
// once that is gone.
func TestDeploymentMeetsAnothersRevision(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	another := &v1alpha1.BundleRevision{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "shop-1"}}
	another.Spec = v1alpha1.BundleRevisionSpec{Deployment: "shop", Revision: 1, Content: 1, ManifestDigest: "sha256:0", PlanDigest: "sha256:0", Contents: []string{"x"}}
	require.NoError(t, w.admin.Create(w.ctx, another))
	w.controller()
	d := w.bundle(configMap("a", "1"))
	require.NoError(t, w.admin.Create(w.ctx, d))
	assert.Never(t, func() bool {
		require.NoError(t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(d), d))
		return d.Status.HealthyRevision > 0
	}, 2*time.Second, 50*time.Millisecond)
	require.NoError(t, w.admin.Delete(w.ctx, another))
	w.ready(d, "Healthy")
	require.NoError(t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(another), another))
	assert.True(t, metav1.IsControlledBy(another, d))
}

// Who never had an account that may act has made nothing, and goes; who has lost it waits for
// another, and says so (BUNDLES.md 7, 9).
func TestDeploymentWithoutAnAccountGoes(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	gone := func(d *v1alpha1.BundleDeployment) func() bool {
		return func() bool { return apierrors.IsNotFound(w.admin.Get(w.ctx, client.ObjectKeyFromObject(d), d)) }
	}
	d := w.bundle(configMap("a", "1"))
	d.Spec.ServiceAccountName = "nobody"
	require.NoError(t, w.admin.Create(w.ctx, d))
	assert.Contains(t, w.ready(d, "AccountForbidden"), "kubectl create serviceaccount nobody")
	require.NoError(t, w.admin.Delete(w.ctx, d))
	controlplane.Eventually(t, gone(d), soon)

	d = w.bundle(configMap("a", "1"))
	require.NoError(t, w.admin.Create(w.ctx, d))
	w.ready(d, "Healthy")
	w.edit(d, func() { d.Spec.ServiceAccountName = "nobody" })
	w.ready(d, "AccountForbidden")
	require.NoError(t, w.admin.Delete(w.ctx, d))
	controlplane.Eventually(t, func() bool {
		require.NoError(t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(d), d))
		ready := meta.FindStatusCondition(d.Status.Conditions, "Ready")
		return ready != nil && strings.HasPrefix(ready.Message, "deletion is waiting: ")
	}, soon)
	assert.EqualValues(t, 1, d.Status.ActiveRevision, "what is there is not forgotten")
	var revision v1alpha1.BundleRevision
	require.NoError(t, w.admin.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: "shop-1"}, &revision))
	assert.Contains(t, w.configMaps(), "a")
	w.edit(d, func() { d.Spec.ServiceAccountName = "" })
	controlplane.Eventually(t, gone(d), soon)
	assert.NotContains(t, w.configMaps(), "a")
}
