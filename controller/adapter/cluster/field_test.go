package cluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

func TestAt(t *testing.T) {
	object := map[string]any{"spec": map[string]any{
		"ports":  []any{map[string]any{"port": int64(80), "name": "web"}, map[string]any{"port": int64(80), "protocol": "UDP"}},
		"groups": []any{"a", "b"},
	}}
	key := fieldpath.KeyByFields
	tests := map[string]struct {
		why   string
		path  fieldpath.Path
		want  any
		there bool
	}{
		"Field":       {"a name leads into a map", fieldpath.MakePathOrDie("spec", "groups"), []any{"a", "b"}, true},
		"Key":         {"a key finds its element", fieldpath.MakePathOrDie("spec", "ports", key("port", 80, "protocol", "UDP"), "protocol"), "UDP", true},
		"DefaultLeft": {"an author leaves out what has a default", fieldpath.MakePathOrDie("spec", "ports", key("port", 80, "protocol", "TCP"), "name"), "web", true},
		"OtherKey":    {"another key is another element", fieldpath.MakePathOrDie("spec", "ports", key("port", 81, "protocol", "TCP")), nil, false},
		"Index":       {"an index counts from 0", fieldpath.MakePathOrDie("spec", "groups", 1), "b", true},
		"Missing":     {"what is not there is not", fieldpath.MakePathOrDie("spec", "none", "x"), nil, false},
		"NoMap":       {"nothing lies below a text", fieldpath.MakePathOrDie("spec", "groups", 1, "x"), nil, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, there := at(object, test.path)
			assert.Equal(t, test.there, there, test.why)
			assert.Equal(t, test.want, got, test.why)
		})
	}
}
