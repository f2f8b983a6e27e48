package cluster

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// unserved is a cluster that does not know the kind that is listed.
type unserved struct{ client.Client }

// List implements client.Reader.
func (unserved) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	kind := list.(*metav1.PartialObjectMetadataList).GroupVersionKind() //nolint:forcetypeassert // nothing else is listed
	return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: kind.Group, Kind: kind.Kind}, SearchedVersions: []string{kind.Version}}
}

// A definition that the cluster has not accepted has no objects, and does not hold an uninstallation up. What another one has
// is not known before its kind is (BUNDLES.md 7).
func TestUsedOfUnservedKinds(t *testing.T) {
	definition := func(established string, served bool) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "engines.race.example.org"},
			"spec": map[string]any{"group": "race.example.org", "names": map[string]any{"kind": "Engine"},
				"versions": []any{map[string]any{"name": "v1", "served": served}}},
			"status": map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": established}}},
		}}
	}
	w := &World{client: unserved{}, owner: "shop/store"}
	uses, err := w.used(t.Context(), definition("False", true))
	require.NoError(t, err)
	assert.Empty(t, uses)
	_, err = w.used(t.Context(), definition("True", true))
	require.ErrorContains(t, err, "cannot find out whether engines.race.example.org is in use")
	_, err = w.used(t.Context(), definition("True", false))
	require.ErrorContains(t, err, "cannot find out whether engines.race.example.org is in use: it serves no version")
	require.ErrorContains(t, err, "set spec.versions[].served: true for one", "nothing else ends the wait")
}
