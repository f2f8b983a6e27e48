package databag_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// Different contents have different versions, equal ones the same
// (RELATIONS.md V1). The alphabet is what a careless encoding would mix up.
func TestVersionIsInjective(t *testing.T) {
	text := rapid.StringOfN(rapid.RuneFrom([]rune{'a', 'b', '=', ',', '\n', 0, 8}), 0, 4, -1)
	content := rapid.MapOfN(text, text, 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		a, b := content.Draw(t, "a"), content.Draw(t, "b")
		assert.Equal(t, maps.Equal(a, b), databag.Version(a) == databag.Version(b))
		assert.Equal(t, databag.Version(a), databag.Version(maps.Clone(a)))
	})
}

// Contents that a careless encoding takes for one (RELATIONS.md V1).
func TestVersionTellsApart(t *testing.T) {
	zeros := strings.Repeat("\x00", 8)
	tests := map[string]struct {
		why  string
		a, b map[string]string
	}{
		"MovedLetter":   {"a letter moves from key to value", map[string]string{"ab": "c"}, map[string]string{"a": "bc"}},
		"TwoKeys":       {"one value that looks like two pairs", map[string]string{"a": "b", "c": "d"}, map[string]string{"a": "bcd"}},
		"OwnSeparators": {"a value that holds what might stand between two", map[string]string{"a": "b", "c": "d"}, map[string]string{"a": "b" + zeros + "c" + zeros + "d"}},
		"SwappedPairs":  {"values change places", map[string]string{"a": "x", "b": "y"}, map[string]string{"a": "y", "b": "x"}},
		"EmptyValue":    {"a key without a value is a key", map[string]string{"a": ""}, map[string]string{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.NotEqual(t, databag.Version(test.a), databag.Version(test.b), test.why)
		})
	}
	assert.Equal(t, databag.Version(nil), databag.Version(map[string]string{}), "no content is one content")
}

// RELATIONS.md P3: layers, and what deletes.
func TestOverlay(t *testing.T) {
	below := map[string]string{"host": "a", "port": "1"}
	assert.Equal(t, map[string]string{"host": "b", "user": "u"}, databag.Overlay(below, map[string]string{"host": "b", "port": "", "user": "u"}))
	assert.Equal(t, map[string]string{"host": "a", "port": "1"}, below, "what lies below is left as it was")
	assert.Empty(t, databag.Overlay(nil, nil))
}
