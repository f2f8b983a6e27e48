package weight_test

import (
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/weight"
)

// A schema costs what its references come to when they are written out, for values as many and as deep as there are.
func TestAffordable(t *testing.T) {
	deep := any("leaf")
	for range 30 {
		deep = map[string]any{"a": deep}
	}
	many := make([]any, 90_000)
	tests := map[string]struct {
		why, schema string
		value       any
		fits        bool
	}{
		"Plain":   {"one schema for one value", `{"type": "string"}`, "a", true},
		"Many":    {"one schema for each of many", `{"items": {"type": "null"}}`, many, true},
		"ManyFew": {"a hundred schemas for each of many", `{"items": {"allOf": [` + strings.Repeat(`{"type": "null"},`, 99) + `{}]}}`, many, false},
		"Tree":    {"it refers to itself for what is inside", `{"properties": {"a": {"$ref": "#"}}}`, deep, true},
		"Doubles": {"it does so twice", `{"anyOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}]}`, deep, false},
		"Shallow": {"and the value has nothing inside", `{"anyOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}]}`, "a", true},
		"Dynamic": {"what it refers to is not known before", `{"$dynamicAnchor": "x", "properties": {"a": {"$dynamicRef": "#x"}}}`, deep, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			text, err := jsonschema.UnmarshalJSON(strings.NewReader(tc.schema))
			require.NoError(t, err)
			c := jsonschema.NewCompiler()
			require.NoError(t, c.AddResource("schema.json", text))
			s, err := c.Compile("schema.json")
			require.NoError(t, err)
			assert.Equal(t, tc.fits, weight.Affordable(s, tc.value), tc.why)
		})
	}
}
