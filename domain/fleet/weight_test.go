package fleet

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TRUST.md U6: a chart's schema of 2^40 validations is refused before it is judged by: the controller of all namespaces judges by it.
func TestSchemaThatDoubles(t *testing.T) {
	for label, tc := range map[string]struct {
		step string
		fits bool
	}{
		"AllOf":  {step: `{"allOf":[{"$ref":"#/$defs/aN"},{"$ref":"#/$defs/aN"}]}`},
		"AnyOf":  {step: `{"anyOf":[{"$ref":"#/$defs/aN"},{"$ref":"#/$defs/aN"}]}`},
		"Not":    {step: `{"not":{"$ref":"#/$defs/aN"},"if":{"$ref":"#/$defs/aN"}}`},
		"Chain":  {step: `{"$ref":"#/$defs/aN"}`, fits: true},
		"Itself": {step: `{"properties":{"spec":{"$ref":"#/$defs/a40"}}}`, fits: true},
	} {
		t.Run(label, func(t *testing.T) {
			defs := `"a0":{"type":"object"}`
			for i := range 40 {
				defs += fmt.Sprintf(`,"a%d":%s`, i+1, strings.ReplaceAll(tc.step, "aN", fmt.Sprint("a", i)))
			}
			s, err := ParseSchema([]byte(`{"$defs":{` + defs + `},"properties":{"integrations":{"items":{"$ref":"#/$defs/a40"}}}}`))
			require.NoError(t, err)
			wrong := s.Check(Member{Integration: "x"})
			if tc.fits {
				assert.Empty(t, wrong)
				return
			}
			assert.Contains(t, fmt.Sprint(wrong), "costs too much to judge by")
		})
	}
}
