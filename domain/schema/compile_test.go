package schema

import (
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Should a reference out of the document ever get past the author's check, the
// compiler still loads nothing (SAFETY.md S5).
func TestCompileLoadsNothing(t *testing.T) {
	for _, ref := range []string{"file:///etc/hostname", "https://example.org/schema.json", "other.json"} {
		_, err := compile(map[string]any{"properties": map[string]any{"a": map[string]any{"$ref": ref}}}, nil)
		var load *jsonschema.LoadURLError
		require.ErrorAs(t, err, &load, ref)
		assert.ErrorIs(t, load.Err, errLoad, ref)
	}
}
