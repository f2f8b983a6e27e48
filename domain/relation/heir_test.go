package relation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// Of relations of one identity one is current, whatever their order; one that takes no part is none of them
// (TRUST.md A11).
func TestCurrent(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	first := relation.Relation{Name: "first", UID: "a", Created: at, State: relation.State{ID: 1}}
	deleted := first
	deleted.Deleted = at
	second := relation.Relation{Name: "second", UID: "a", Created: at.Add(time.Second), State: relation.State{ID: 1}}
	held := second
	held.State.HeldSince = at
	refused := second
	refused.State.ID = 0
	other := relation.Relation{Name: "first", UID: "b", Created: at, State: relation.State{ID: 1}}
	tests := map[string]struct {
		why             string
		all, is, passed []relation.Relation
	}{
		"Alone":   {why: "there is one", all: []relation.Relation{deleted}, is: []relation.Relation{deleted}},
		"Heir":    {why: "the first is being deleted", all: []relation.Relation{deleted, second}, is: []relation.Relation{second}, passed: []relation.Relation{deleted}},
		"Both":    {why: "both are: the namespace is", all: []relation.Relation{first, second}, is: []relation.Relation{second}, passed: []relation.Relation{first}},
		"Held":    {why: "nothing declares the younger one", all: []relation.Relation{first, held}, is: []relation.Relation{first}, passed: []relation.Relation{held}},
		"Refused": {why: "it has taken over nothing", all: []relation.Relation{first, refused}, is: []relation.Relation{first, refused}},
		"Others":  {why: "names are those of several namespaces", all: []relation.Relation{first, other}, is: []relation.Relation{first, other}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			is, passed := relation.Current(test.all)
			assert.Equal(t, test.is, is, test.why)
			assert.Equal(t, test.passed, passed, test.why)
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		var all []relation.Relation
		for i := range rapid.IntRange(0, 6).Draw(t, "many") {
			r := relation.Relation{Name: string(rune('a' + i)), UID: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "uid"), State: relation.State{ID: 1}}
			r.Created = at.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "age")) * time.Second)
			if rapid.Bool().Draw(t, "deleted") {
				r.Deleted = at
			}
			if rapid.Bool().Draw(t, "held") {
				r.State.HeldSince = at
			}
			all = append(all, r)
		}
		is, passed := relation.Current(all)
		again, none := relation.Current(is)
		assert.Equal(t, is, again)
		assert.Empty(t, none)
		assert.Len(t, all, len(is)+len(passed))
		shuffled, _ := relation.Current(rapid.Permutation(all).Draw(t, "order"))
		assert.ElementsMatch(t, is, shuffled)
	})
}
