package negotiation

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Applications whose gates wait for each other are found, and only those (SAFETY.md I17).
func TestMutual(t *testing.T) {
	tests := map[string]struct {
		why   string
		edges map[string][]string
		want  [][]string
	}{
		"None":      {why: "nothing waits"},
		"Chain":     {why: "a chain ends somewhere", edges: map[string][]string{"a": {"b"}, "b": {"c"}}},
		"Itself":    {why: "a peer relation is with itself, and opens its own gate", edges: map[string][]string{"a": {"a"}}},
		"Two":       {why: "each waits for the other", edges: map[string][]string{"a": {"b"}, "b": {"a"}}, want: [][]string{{"a", "b"}}},
		"Three":     {why: "in a circle", edges: map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"a"}}, want: [][]string{{"a", "b", "c"}}},
		"Entrance":  {why: "what leads into a circle waits for it and is not in it", edges: map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"b"}}, want: [][]string{{"b", "c"}}},
		"TwoRounds": {why: "two circles with one member in common are one", edges: map[string][]string{"a": {"b", "c"}, "b": {"a"}, "c": {"a"}}, want: [][]string{{"a", "b", "c"}}},
		"Finished":  {why: "what was looked at before is in no later circle", edges: map[string][]string{"a": {"b"}, "c": {"b", "d"}, "d": {"c"}}, want: [][]string{{"c", "d"}}},
		"Apart":     {why: "two circles apart are two", edges: map[string][]string{"a": {"b"}, "b": {"a", "c"}, "c": {"d"}, "d": {"c"}}, want: [][]string{{"c", "d"}, {"a", "b"}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			assert.ElementsMatch(t, tc.want, mutual(tc.edges), tc.why)
		})
	}
}
