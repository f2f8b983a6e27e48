package cluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// The API server drops an empty value of a variable: to apply it again changes nothing, or it would be drift for ever.
func TestChangesOfFieldsThatAreNotStored(t *testing.T) {
	object := func(value any) *unstructured.Unstructured {
		variable := map[string]any{"name": "A"}
		if value != nil {
			variable["value"] = value
		}
		return &unstructured.Unstructured{Object: map[string]any{"env": []any{variable}}}
	}
	path := fieldpath.MakePathOrDie("env", fieldpath.KeyByFields("name", "A"), "value")
	is := owners{applied: fieldpath.NewSet(path), created: fieldpath.NewSet()}
	for name, c := range map[string]struct {
		live, after any
		changes     []bundle.Change
	}{
		"NotStored": {nil, nil, nil},
		"Equal":     {"x", "x", nil},
		"Set":       {nil, "x", []bundle.Change{{Path: `env[name="A"].value`, After: `"x"`}}},
		"Changed":   {"x", "y", []bundle.Change{{Path: `env[name="A"].value`, Before: `"x"`, After: `"y"`}}},
		"Emptied":   {"x", nil, []bundle.Change{{Path: `env[name="A"].value`, Before: `"x"`, After: "null"}}},
	} {
		assert.Equal(t, c.changes, changes(question{}, object(c.live), object(c.after), is, is), name)
	}
}
