package schema_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/schema"
)

// Every schema is one, and describes each of its fields (FLEET.md P4).
func TestSchemas(t *testing.T) {
	assert.Equal(t, []string{
		"account-1", "cluster-1", "environment-1", "integration-1", "lean-namespace-1", "namespace-1", "openshift-cluster-manager-1",
	}, schema.Names())
	for _, name := range schema.Names() {
		text, there := schema.Find(name)
		require.True(t, there)
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		require.NoError(t, err)
		compiler := jsonschema.NewCompiler()
		require.NoError(t, compiler.AddResource("test://"+name, document))
		_, err = compiler.Compile("test://" + name)
		require.NoError(t, err)
		var fields map[string]any
		require.NoError(t, json.Unmarshal(text, &fields))
		described(t, name, fields)
	}
	_, there := schema.Find("app-1")
	assert.False(t, there)
}

// described requires a description of each property.
func described(t *testing.T, at string, s map[string]any) {
	t.Helper()
	properties, _ := s["properties"].(map[string]any)
	for name, p := range properties {
		property, ok := p.(map[string]any)
		require.True(t, ok, "%s.%s", at, name)
		assert.NotEmpty(t, property["description"], "%s.%s", at, name)
		described(t, at+"."+name, property)
	}
	if items, ok := s["items"].(map[string]any); ok {
		described(t, at+"[]", items)
	}
	definitions, _ := s["$defs"].(map[string]any)
	for name, d := range definitions {
		definition, ok := d.(map[string]any)
		require.True(t, ok)
		if name != "amounts" {
			assert.NotEmpty(t, definition["description"], "%s: %s", at, name)
		}
		described(t, at+": "+name, definition)
	}
}
