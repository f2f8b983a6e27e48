package bundles

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/networks"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/bundledeployment"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/destination"
)

// TestDeploymentOfTheCluster has sources name servers of this machine and of the cluster, whose networks
// the controller reads by its own account: it asks none of them (TRUST.md R4).
func TestDeploymentOfTheCluster(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller(func(r *bundledeployment.Reconciler, m manager.Manager) {
		r.Contents.Destinations = func(ctx context.Context) (destination.Rules, error) {
			all, err := networks.Read(ctx, m.GetAPIReader())
			return destination.Rules{Cluster: all}, err
		}
	})
	origin := newOrigin(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { assert.Fail(t, "it was asked") }))
	kubernetes, err := w.client.CoreV1().Services("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
	require.NoError(t, err)
	for name, reference := range map[string]string{
		"loopback": origin.URL + "/a.tgz", "metadata": "http://169.254.169.254/latest/meta-data/a.tgz",
		"service": "https://" + kubernetes.Spec.ClusterIP + "/a.tgz", "name": "git+https://kubernetes.default.svc/a",
	} {
		d := &v1alpha1.BundleDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
		d.Spec.Sources = []v1alpha1.BundleSource{{Reference: reference, Resolve: "Track"}}
		require.NoError(t, w.admin.Create(w.ctx, d))
		message := w.ready(d, "SourceRefused")
		assert.Contains(t, message, "cannot fetch "+reference)
		assert.Contains(t, message, "let an administrator allow this one with -allow")
	}
}
