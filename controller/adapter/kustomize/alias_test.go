package kustomize

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

// FuzzBounded takes any text: it is judged without a panic, and text that is accepted is decoded into no more values than
// are allowed (CONTENT.md X5).
func FuzzBounded(f *testing.F) {
	for _, seed := range []string{"a: &a [x, x]\nb: [*a, *a]\n", "a: &a [*a]", "a: *b", "&a a: &b {<<: *a}", "--- &x 1\n--- *x\n", "[*", "\xff*"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if bounded([]byte(text)) != nil {
			return
		}
		var value any
		if yaml.Unmarshal([]byte(text), &value) == nil {
			require.LessOrEqual(t, count(value), maxValues)
		}
	})
}

// count returns how many values one has.
func count(value any) int {
	all := 1
	switch v := value.(type) {
	case map[string]any:
		for _, below := range v {
			all += count(below)
		}
	case []any:
		for _, below := range v {
			all += count(below)
		}
	}
	return all
}
