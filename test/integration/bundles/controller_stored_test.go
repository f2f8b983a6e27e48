package bundles

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// The plan that is carried out has the bytes that were approved, although a live object has
// changed since in a way that changes no action (BUNDLES.md, Kinds).
func TestDeploymentCarriesOutWhatWasApproved(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	d := w.bundle(broken)
	d.Spec.HealthChecks = []v1alpha1.BundleHealthCheck{{Group: "apps", Kind: "Deployment", Ready: "true"}}
	d.Spec.Approval.Mode = "Digest"
	require.NoError(t, w.admin.Create(w.ctx, d))
	w.ready(d, "WaitingForApproval")
	require.NoError(t, w.approve(d, d.Status.Plan.Digest, "admin"))
	w.ready(d, "Healthy")
	w.source("content-shop", strings.ReplaceAll(broken, "image: none", "image: other"))
	w.ready(d, "WaitingForApproval")
	w.cluster.Kubectl(t, "-n", w.namespace, "scale", "deployment", "web", "--replicas=3")
	require.NoError(t, w.approve(d, d.Status.Plan.Digest, "admin"))
	controlplane.Eventually(t, func() bool {
		w.ready(d, "Healthy")
		return d.Status.HealthyRevision == 2
	}, soon)
	w.edit(d, func() { d.Spec.HistoryLimit = 7 })
	w.ready(d, "Healthy")
}

// A deployment in a namespace that is deleted goes, although its account loses its permissions
// while an object is still being deleted (BUNDLES.md 7).
func TestDeploymentGoesWithItsNamespace(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	d := w.bundle(configMap("a", "1"))
	require.NoError(t, w.admin.Create(w.ctx, d))
	w.ready(d, "Healthy")
	hold := func(finalizers ...string) {
		held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "a"}}
		require.NoError(t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(held), held))
		held.Finalizers = finalizers
		require.NoError(t, w.admin.Update(w.ctx, held))
	}
	hold("example.org/backup")
	require.NoError(t, w.client.CoreV1().Namespaces().Delete(w.ctx, w.namespace, metav1.DeleteOptions{}))
	controlplane.Eventually(t, func() bool {
		return apierrors.IsNotFound(w.admin.Get(w.ctx, client.ObjectKeyFromObject(d), d))
	}, soon)
	hold()
}
