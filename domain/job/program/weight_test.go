package program

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TRUST.md U6: a template's schema of 2^40 validations is refused before it is judged by: the controller of all runs judges by it.
func TestSchemaThatDoubles(t *testing.T) {
	defs := `"a0":{"type":"object"}`
	for i := range 40 {
		defs += fmt.Sprintf(`,"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%[2]d"}]}`, i+1, i)
	}
	s, err := ParseSchema([]byte(`{"$defs":{` + defs + `},"type":"object","$ref":"#/$defs/a40"}`))
	require.NoError(t, err)
	require.ErrorContains(t, s.Check(nil, nil), "costs too much to judge by")

	deep := map[string]any{}
	for range 30 {
		deep = map[string]any{"a": deep}
	}
	s, err = ParseSchema([]byte(`{"anyOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`))
	require.NoError(t, err)
	require.ErrorContains(t, s.Check(deep, nil), "costs too much to judge by", "it doubles with each value inside of another")
	s, err = ParseSchema([]byte(`{"properties":{"a":{"$ref":"#"}}}`))
	require.NoError(t, err)
	require.NoError(t, s.Check(deep, nil), "a schema of trees")
}
