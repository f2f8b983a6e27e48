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

// A person's Relation takes over from one that nothing declares any more, whichever of the two is older. No end is owed for
// that (TRUST.md A11).
func TestHeirOfADeclaration(t *testing.T) {
	for name, age := range map[string]time.Duration{"Younger": time.Minute, "Older": -time.Minute} {
		t.Run(name, func(t *testing.T) {
			w, first := declaredTwice(t, age)
			w.consumes("blog", "store:pg", "", application.KeyRetain, "1h")
			w.settle(t)
			second := w.only(t)
			assert.Equal(t, "second", second.Name, "the object of the first is deleted")
			assert.Equal(t, first.UID, second.UID)
			assert.Equal(t, first.State.ID, second.State.ID)
			assert.False(t, second.Held())
			ready, _ := condition.Find(second.State.Conditions, condition.Ready)
			assert.True(t, ready.True, "%v", second.State.Conditions)

			w.later(t, 2*time.Hour)
			assert.True(t, w.only(t).Alive())
			for _, side := range w.sides {
				assert.Nil(t, side.Teardown, "no end is owed")
			}
			w.consumes("blog", "store:pg", "db", application.KeyRetain, "1h")
			w.settle(t)
			assert.Equal(t, first.UID, w.only(t).UID, "one declaration more makes no other")
		})
	}
}

// A Relation takes nothing over from a declared one, also while that waits for a place, nor if the place of the held one is
// taken (TRUST.md A11, RELATIONS.md M3).
func TestHeirOfADeclarationThatTakesNothing(t *testing.T) {
	tests := map[string]struct {
		why, reason string
		change      func(t *testing.T, w *world)
	}{
		"Declared": {
			why: "it is declared, however long", reason: relation.ReasonRelated,
			change: func(t *testing.T, w *world) { w.later(t, 2*time.Hour) },
		},
		"Waits": {
			why: "it waits for its place, and is declared", reason: relation.ReasonRelated,
			change: func(t *testing.T, w *world) {
				losesItsPlace(t, w)
				w.consumes("blog", "store:pg!1", "other,db", application.KeyRetain, "1h")
			},
		},
		"PlaceTaken": {why: "there is no place for it", reason: relation.ReasonLimit, change: losesItsPlace},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w, first := declaredTwice(t, time.Minute)
			test.change(t, w)
			w.settle(t)
			assert.True(t, w.relations[first.Name].Alive())
			second := w.relations["second"]
			assert.Zero(t, second.State.ID)
			assert.Equal(t, test.reason, found(second.State.Conditions, condition.Ready).Reason, test.why)
		})
	}
}

// losesItsPlace has blog, which then may have one relation, declare that with other instead of db.
func losesItsPlace(t *testing.T, w *world) {
	w.external("other", "main:pg")
	w.consumes("blog", "store:pg!1", "other", application.KeyRetain, "1h")
	w.settle(t)
}

// declaredTwice returns a world in which blog declares its relation with db, and a person has made a Relation of the pair,
// which is younger than the declared one by age.
func declaredTwice(t *testing.T, age time.Duration) (w *world, first relation.Relation) {
	w = newWorld()
	w.consumes("blog", "store:pg", "db", application.KeyRetain, "1h")
	w.external("db", "main:pg")
	w.handling(application.Deployment, "blog", "blog-1")
	w.settle(t)
	first = w.only(t)
	w.apply("second", here("blog", "store"), here("db", "main"), "pg", 0)
	second := w.relations["second"]
	second.Created = first.Created.Add(age)
	w.relations["second"] = second
	w.settle(t)
	require.Equal(t, relation.ReasonRelated, found(w.relations["second"].State.Conditions, condition.Ready).Reason)
	return w, first
}
