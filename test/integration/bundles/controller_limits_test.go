package bundles

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// TestDeploymentOfBadContent has a chart that makes two billion letters rendered, and one of a neighbour:
// the first stops with a message, and the other one becomes healthy (TRUST.md U6).
func TestDeploymentOfBadContent(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	var tree bundle.Tree
	require.NoError(t, tree.Add("Chart.yaml", bundle.File{Content: []byte("apiVersion: v2\nname: shop\nversion: 1.0.0\n")}))
	require.NoError(t, tree.Add("templates/a.yaml", bundle.File{Content: []byte(`{{ repeat 2000000000 "a" }}`)}))
	var packed bytes.Buffer
	require.NoError(t, archive.Pack(&packed, &tree))
	origin := newOrigin(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(packed.Bytes()) }))
	bad := &v1alpha1.BundleDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "bad"}}
	bad.Spec.Sources = []v1alpha1.BundleSource{{Reference: origin.URL + "/a.tar", Resolve: "Track"}}
	require.NoError(t, w.admin.Create(w.ctx, bad))
	good := w.bundle(configMap("a", "1"))
	require.NoError(t, w.admin.Create(w.ctx, good))
	assert.Contains(t, w.ready(bad, "RenderFailed"), "cannot render: needs more than 576 MiB of memory, the limit: split the bundle")
	w.ready(good, "Healthy")
}
