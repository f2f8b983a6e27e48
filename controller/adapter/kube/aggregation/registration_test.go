package aggregation_test

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/aggregation"
)

// The APIService has the certificates by which the API server trusts the API, also after they were replaced.
func TestRegistration(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
		"metadata": map[string]any{"name": "v1alpha1.jobs.orcon.tengu.io"}, "spec": map[string]any{"group": "jobs.orcon.tengu.io"},
	}}
	c := fake.NewClientBuilder().WithScheme(runtime.NewScheme()).Build()
	var bundle []byte
	r := aggregation.Registration{Client: c, Bundle: func() []byte { return bundle }}
	require.ErrorContains(t, r.Refresh(t.Context()), "no certificates to trust are known yet")
	bundle = []byte("one")
	require.ErrorContains(t, r.Refresh(t.Context()), "cannot read APIService v1alpha1.jobs.orcon.tengu.io")
	require.NoError(t, c.Create(t.Context(), o))
	version := ""
	for _, text := range []string{"one", "two"} {
		bundle = []byte(text)
		require.NoError(t, r.Refresh(t.Context()))
		require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(o), o))
		got, _, _ := unstructured.NestedString(o.Object, "spec", "caBundle")
		assert.Equal(t, base64.StdEncoding.EncodeToString(bundle), got)
		assert.NotEqual(t, version, o.GetResourceVersion())
		version = o.GetResourceVersion()
		require.NoError(t, r.Refresh(t.Context()))
		require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(o), o))
		assert.Equal(t, version, o.GetResourceVersion(), "nothing is written twice")
	}
}
