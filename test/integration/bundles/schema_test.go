package bundles

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
)

// The API server refuses a value that could not be read: one such object would keep all BundleDeployments
// from being listed.
func TestDeploymentSchema(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	tests := map[string]struct {
		field   []string
		value   string
		refusal string
	}{
		"deadline":      {field: []string{"rollback", "progressDeadline"}, value: "1h30m"},
		"sentence":      {field: []string{"rollback", "progressDeadline"}, value: "10 minutes", refusal: "spec.rollback.progressDeadline"},
		"overflow":      {field: []string{"rollback", "progressDeadline"}, value: "9999999h", refusal: "spec.rollback.progressDeadline"},
		"past":          {field: []string{"rollback", "progressDeadline"}, value: "-5m", refusal: "spec.rollback.progressDeadline"},
		"restart":       {field: []string{"render", "onConfigChange"}, value: "Restart"},
		"recreate":      {field: []string{"render", "onConfigChange"}, value: "Recreate", refusal: "spec.render.onConfigChange"},
		"keep":          {field: []string{"rollback", "onFailure"}, value: "Keep"},
		"false":         {field: []string{"rollback", "onFailure"}, value: "false", refusal: "spec.rollback.onFailure"},
		"self-approval": {field: []string{"approval", "selfApproval"}, value: "Deny", refusal: "spec.approval.selfApproval"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
				"sources": []any{map[string]any{"reference": "configmaps:none"}},
			}}}
			d.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("BundleDeployment"))
			d.SetNamespace(w.namespace)
			d.SetName(name)
			require.NoError(t, unstructured.SetNestedField(d.Object, tc.value, append([]string{"spec"}, tc.field...)...))
			err := w.admin.Create(w.ctx, d)
			if tc.refusal == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, tc.refusal)
		})
	}
}
