package negotiation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// twice returns a world in which two Relations relate blog:store and db:main, whose units have handlers. The first works.
func twice(t *testing.T) *world {
	w := newWorld()
	w.consumes("blog", "store:pg", "")
	w.external("db", "main:pg")
	w.handling(application.Deployment, "blog", "blog-1")
	w.apply("first", here("blog", "store"), here("db", "main"), "pg", 0)
	w.settle(t)
	w.now = w.now.Add(time.Second)
	w.apply("second", here("blog", "store"), here("db", "main"), "pg", 0)
	w.settle(t)
	is, _ := condition.Find(w.relations["second"].State.Conditions, condition.Ready)
	require.Equal(t, relation.ReasonRelated, is.Reason)
	return w
}

// Of two Relations for a pair the other takes over when the first is deleted, and no handler learns of it (TRUST.md A11).
func TestHeirTakesOver(t *testing.T) {
	w := twice(t)
	first := w.relations["first"]
	require.Positive(t, first.State.ID)
	w.remove("first", first.UID)
	w.settle(t)

	assert.NotContains(t, w.relations, "first")
	second := w.relations["second"]
	assert.Equal(t, first.UID, second.UID, "the identity stays")
	assert.Equal(t, first.State.ID, second.State.ID, "and the id")
	assert.True(t, second.Alive())
	for _, side := range w.sides {
		assert.Nil(t, side.Teardown, "no end is owed")
	}
	ready, _ := condition.Find(second.State.Conditions, condition.Ready)
	assert.True(t, ready.True, "%v", second.State.Conditions)

	w.remove("second", second.UID)
	w.settle(t)
	w.later(t, time.Minute)
	ended := 0
	for _, side := range w.sides {
		if side.Teardown != nil {
			ended++
		}
	}
	assert.Equal(t, 1, ended, "its own end is owed")
}

// A Relation that does not fit takes nothing over, nor does one of a relation whose end is decided (TRUST.md A11).
func TestHeirThatTakesNothing(t *testing.T) {
	tests := map[string]struct {
		why    string
		change func(t *testing.T, w *world)
	}{
		"Unfit": {why: "it names another interface", change: func(_ *testing.T, w *world) {
			second := w.relations["second"]
			second.Interface = "redis"
			w.relations["second"] = second
		}},
		"Deleted": {why: "it is deleted too", change: func(_ *testing.T, w *world) { w.remove("second", w.relations["second"].UID) }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := twice(t)
			test.change(t, w)
			w.remove("first", w.relations["first"].UID)
			w.settle(t)
			ends := 0
			for _, side := range w.sides {
				if side.Teardown != nil {
					ends++
				}
			}
			assert.Positive(t, ends, test.why)
		})
	}
}
