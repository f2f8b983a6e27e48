package cluster

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// adopted is an object with fields of Orcon and of others.
const adopted = `{
  "apiVersion": "apps/v1", "kind": "Deployment",
  "metadata": {
    "name": "web", "namespace": "shop", "resourceVersion": "7", "finalizers": ["a", "b"],
    "annotations": {"orcon.tengu.io/bundle": "shop/store"},
    "managedFields": [
      {"manager": "orcon", "operation": "Apply", "fieldsV1": {
        "f:metadata": {"f:annotations": {"f:orcon.tengu.io/bundle": {}}, "f:finalizers": {"v:\"b\"": {}}},
        "f:spec": {"f:replicas": {}, "f:paused": {}, "f:new": {}, "f:containers": {
          "k:{\"name\":\"web\"}": {".": {}, "f:name": {}, "f:image": {}, "f:args": {}},
          "k:{\"name\":\"more\"}": {".": {}, "f:name": {}, "f:image": {}}}}}},
      {"manager": "autoscaler", "operation": "Update", "fieldsV1": {"f:spec": {"f:replicas": {}}}}
    ]
  },
  "spec": {"replicas": 5, "paused": true, "new": 1, "containers": [
    {"name": "web", "image": "ours", "args": ["x"]}, {"name": "more", "image": "ours"}]}
}`

// TRUST.md T9: an object gets the values from before back, without what was not there; what others
// set stays theirs, and what no record has stays as it is.
func TestBefore(t *testing.T) {
	o := &unstructured.Unstructured{}
	require.NoError(t, json.Unmarshal([]byte(adopted), &o.Object))
	was := o.DeepCopy()
	owners, err := ownership(o)
	require.NoError(t, err)
	require.NoError(t, unstructured.SetNestedSlice(was.Object, []any{map[string]any{"name": "web", "image": "theirs"}}, "spec", "containers"))
	require.NoError(t, unstructured.SetNestedField(was.Object, int64(1), "spec", "replicas"))
	unstructured.RemoveNestedField(was.Object, "spec", "new")
	fields, err := present(was, owners.applied)
	require.NoError(t, err)
	for i, f := range fields {
		if f.Path == `["f:spec","f:paused"]` {
			fields = append(fields[:i], fields[i+1:]...)
			break
		}
	}

	back, err := before(o, bundle.Original{Fields: fields})
	require.NoError(t, err)
	assert.Equal(t, bundle.Object{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{
			"name": "web", "namespace": "shop", "resourceVersion": "7", "finalizers": []any{"b"},
			"annotations": map[string]any{"orcon.tengu.io/bundle": "shop/store"},
		},
		"spec": map[string]any{"paused": true, "containers": []any{map[string]any{"name": "web", "image": "theirs"}}},
	}, back)
	release(o)
	assert.Empty(t, o.GetAnnotations())
	assert.Len(t, o.GetManagedFields(), 1)
}
