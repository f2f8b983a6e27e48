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

// A person's Relation takes over from one that nothing declares any more when that would end, whichever of the two is older.
// No end is owed for that (TRUST.md A11).
func TestHeirOfADeclaration(t *testing.T) {
	for name, age := range map[string]time.Duration{"Younger": time.Minute, "Older": -time.Minute} {
		t.Run(name, func(t *testing.T) {
			w, first := declaredTwice(t, age)
			w.consumes("blog", "store:pg", "", application.KeyRetain, "1h")
			w.settle(t)
			assert.Contains(t, ready(w.relations["second"].Relation).Message,
				"nothing declares that any more: this one goes on in its place at "+w.now.Add(time.Hour).Format(time.RFC3339))
			assert.Equal(t, "nothing declares the relation any more: declare it again, or Relation second goes on in its place at "+
				w.now.Add(time.Hour).Format(time.RFC3339)+"; to have that now: kubectl -n shop delete relation "+first.Name,
				found(w.relations[first.Name].State.Conditions, condition.Held).Message)
			w.later(t, time.Hour)
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
		ends        bool
		change      func(t *testing.T, w *world)
	}{
		"Declared": {
			why: "it is declared, however long", reason: relation.ReasonRelated,
			change: func(t *testing.T, w *world) { w.later(t, 2*time.Hour) },
		},
		"Back": {
			why: "it is declared again, as after a rollout that was taken back", reason: relation.ReasonRelated,
			change: func(t *testing.T, w *world) {
				w.consumes("blog", "store:pg", "", application.KeyRetain, "1h")
				w.later(t, time.Minute)
				w.consumes("blog", "store:pg", "db", application.KeyRetain, "1h")
				w.settle(t)
				w.later(t, 2*time.Hour)
			},
		},
		"Waits": {
			why: "it waits for its place, and is declared", reason: relation.ReasonRelated,
			change: func(t *testing.T, w *world) {
				losesItsPlace(t, w)
				w.consumes("blog", "store:pg!1", "other,db", application.KeyRetain, "1h")
				w.later(t, 2*time.Hour)
			},
		},
		"PlaceTaken": {
			why: "there is no place for it", reason: relation.ReasonLimit, ends: true,
			change: func(t *testing.T, w *world) { losesItsPlace(t, w); w.later(t, 2*time.Hour) },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w, first := declaredTwice(t, time.Minute)
			test.change(t, w)
			w.settle(t)
			is, there := w.relations[first.Name]
			assert.Equal(t, !test.ends, there && is.Alive())
			second := w.relations["second"]
			assert.Zero(t, second.State.ID)
			assert.Equal(t, test.reason, found(second.State.Conditions, condition.Ready).Reason, test.why)
		})
	}
}

// A Relation takes over although something is missing that one which is there already outlives: the label of its namespace,
// the other application, an Offer (TRUST.md A11 and T2).
func TestHeirTakesOverWhateverIsMissing(t *testing.T) {
	undeclared := func(w *world) { w.consumes("blog", "store:pg", "", application.KeyRetain, "1h") }
	tests := map[string]struct {
		abroad bool
		away   func(w *world, first relation.Relation)
		back   func(w *world)
	}{
		"Provider": {
			away: func(w *world, _ relation.Relation) { delete(w.services, "db"); undeclared(w) },
			back: func(w *world) { w.external("db", "main:pg") },
		},
		"OptedOut": {
			away: func(w *world, _ relation.Relation) { w.optedIn = false; undeclared(w) },
			back: func(w *world) { w.optedIn = true },
		},
		"Offer": {
			abroad: true,
			away: func(w *world, _ relation.Relation) {
				w.abroad[0].Offers = nil
				w.consumes("web", "store:pg", "", application.KeyRetain, "1h")
			},
		},
		"OfferAndDeleted": {
			abroad: true,
			away:   func(w *world, first relation.Relation) { w.abroad[0].Offers = nil; w.remove(first.Name, first.UID) },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var w *world
			var first relation.Relation
			if test.abroad {
				w, first = borrower(t)
				w.apply("second", inVault().Requirer, inVault().Provider, "pg", 0)
				w.settle(t)
				offers := w.abroad[0].Offers
				test.back = func(w *world) { w.abroad[0].Offers = offers }
			} else {
				w, first = declaredTwice(t, time.Minute)
			}
			test.away(w, first)
			w.settle(t)
			w.later(t, 2*time.Hour)
			test.back(w)
			w.later(t, time.Minute)
			second := w.only(t)
			assert.Equal(t, "second", second.Name)
			assert.Equal(t, first.UID, second.UID)
			assert.Equal(t, first.State.ID, second.State.ID)
			assert.Empty(t, second.State.EndReason)
			for _, side := range w.sides {
				assert.Nil(t, side.Teardown, "no end is owed")
			}
		})
	}
}

// A Relation by another interface takes nothing over: what was said by the one is no data of the other. It begins, with an id
// of its own, when the end of the first is handled (TRUST.md T2, RELATIONS.md M1).
func TestHeirByAnotherInterface(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		w := newWorld()
		w.consumes("blog", "store:pg", "db", application.KeyRetain, "1h")
		w.deployment("db", map[string]string{application.KeyProvides: "main:pg"})
		w.handling(application.Deployment, "db", "db-1")
		w.handling(application.Deployment, "blog", "blog-1")
		w.settle(t)
		first, declares := w.only(t), "db"
		said := relation.Databag{Application: "db", Endpoint: "main", Relation: first.UID, Data: map[string]string{"user": "of-pg"}}
		w.databags[said.Name()] = bag{said, true}
		if !deleted {
			declares = ""
		}
		w.consumes("blog", "store:mysql", declares, application.KeyRetain, "1h")
		w.deployment("db", map[string]string{application.KeyProvides: "main:mysql"})
		w.settle(t)
		w.apply("second", here("blog", "store"), here("db", "main"), "mysql", 0)
		w.settle(t)
		assert.Equal(t, relation.ReasonRelated, found(w.relations["second"].State.Conditions, condition.Ready).Reason)
		if deleted {
			w.remove(first.Name, first.UID)
		}
		w.settle(t)
		w.later(t, 2*time.Hour)
		require.NotEmpty(t, w.sides)
		for _, side := range w.sides {
			assert.Equal(t, "pg", side.Interface)
			assert.NotNil(t, side.Teardown, "the end of the first is owed, deleted %v", deleted)
		}
		second := w.relations["second"]
		assert.NotEqual(t, first.State.ID, second.State.ID)
		assert.False(t, found(second.State.Conditions, condition.Ready).True)
	}
}

// A controller that is killed between the two writes of a take-over loses nothing of what is owed (SAFETY.md E15).
func TestHeirHalfWritten(t *testing.T) {
	w := newWorld()
	w.consumes("blog", "store:pg", "db", application.KeyRetain, "5m")
	w.service("db", map[string]string{application.KeyProvides: "main:pg"})
	w.workload(application.StatefulSet, "db", nil)
	w.handling(application.StatefulSet, "db", "db-0")
	w.handling(application.Deployment, "blog", "blog-1")
	w.settle(t)
	first := w.only(t)
	w.apply("second", here("blog", "store"), here("db", "main"), "pg", 0)
	w.consumes("blog", "store:pg", "", application.KeyRetain, "5m")
	w.settle(t)
	delete(w.pods, "blog-1")
	w.handling(application.Deployment, "blog", "blog-2")
	w.later(t, time.Minute)
	owed := w.relations[first.Name].State.Departures
	require.NotEmpty(t, owed)

	w.now = w.now.Add(5 * time.Minute)
	decisions, _ := w.negotiate(t)
	halves := 0
	for _, d := range decisions {
		if u, is := d.(relation.Update); is && u.Name == "second" {
			w.update(u.Relation)[0]()
			halves++
		}
	}
	require.Equal(t, 1, halves, "the take-over")
	var all []relation.Relation
	for _, r := range w.relations {
		all = append(all, r.Relation)
	}
	_, succeeded := relation.Current(all)
	assert.Empty(t, succeeded, "the first is current until the other has all that it had")
	w.settle(t)
	second := w.only(t)
	assert.Equal(t, []any{"second", first.UID, first.State.ID}, []any{second.Name, second.UID, second.State.ID})
	require.Len(t, second.State.Departures, len(owed))
	assert.Equal(t, owed[0].Owed, second.State.Departures[0].Owed)
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
