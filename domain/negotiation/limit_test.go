package negotiation_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// limited returns a world in which web takes one relation and declares two, the first of
// which lost its provider, so that the second is made.
func limited(t require.TestingT) *world {
	w := newWorld()
	w.external("one", "main:pg")
	w.external("two", "main:pg")
	w.consumes("web", "store:pg!1", "one,two")
	w.settle(t)
	delete(w.services, "one")
	w.settle(t)
	w.settle(t)
	return w
}

// A held relation whose declaration comes back when its place is taken stays held, and
// its retain time does not run while it is declared (RELATIONS.md M3, SAFETY.md M8, L5).
func TestHeldRelationReturnsToATakenPlace(t *testing.T) {
	const one, two = "web:store-one:main", "web:store-two:main"
	tests := map[string]struct {
		why     string
		happens func(t require.TestingT, w *world)
		// held maps each relation that must be there to the reason why it is held.
		held map[string]string
	}{
		"Returns": {
			why: "M3: the second has the place", happens: func(require.TestingT, *world) {},
			held: map[string]string{one: relation.ReasonLimit, two: ""},
		},
		"Remains": {
			why: "L5: what is declared does not end, however long it is held",
			happens: func(t require.TestingT, w *world) {
				for range 3 {
					w.later(t, 2*application.DefaultRetain)
				}
			},
			held: map[string]string{one: relation.ReasonLimit, two: ""},
		},
		"Raised": {
			why:     "there is a place again",
			happens: func(_ require.TestingT, w *world) { w.consumes("web", "store:pg!2", "one,two") },
			held:    map[string]string{one: "", two: ""},
		},
		"Ended": {
			why: "the place is free once the second has ended, and the first was there before a new second",
			happens: func(t require.TestingT, w *world) {
				r := w.between(t, two)
				w.remove(r.Name, r.UID)
			},
			held: map[string]string{one: ""},
		},
		"SecondUndeclared": {
			why:     "L5: a relation that is held for its declaration leaves its place",
			happens: func(_ require.TestingT, w *world) { w.consumes("web", "store:pg!1", "one") },
			held:    map[string]string{one: "", two: relation.ReasonDeclarationGone},
		},
		"FirstUndeclared": {
			why: "L5: its time begins when its declaration vanishes again, and is whole",
			happens: func(t require.TestingT, w *world) {
				w.later(t, 2*application.DefaultRetain)
				w.consumes("web", "store:pg!1", "two")
				w.settle(t)
				w.later(t, application.DefaultRetain-2*time.Minute)
			},
			held: map[string]string{one: relation.ReasonDeclarationGone, two: ""},
		},
		"FirstEnds": {
			why: "L5: and when that is over it ends",
			happens: func(t require.TestingT, w *world) {
				w.later(t, 2*application.DefaultRetain)
				w.consumes("web", "store:pg!1", "two")
				w.settle(t)
				w.later(t, application.DefaultRetain)
				w.later(t, time.Minute)
			},
			held: map[string]string{two: ""},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := limited(t)
			require.Equal(t, relation.ReasonDeclarationGone, found(w.between(t, one).State.Conditions, condition.Held).Reason)
			w.external("one", "main:pg")
			w.settle(t)
			test.happens(t, w)
			w.settle(t)
			w.later(t, time.Minute)
			got := map[string]string{}
			for _, r := range w.relations {
				got[fmt.Sprintf("%s-%s", r.Requirer, r.Provider)] = found(r.State.Conditions, condition.Held).Reason
			}
			assert.Equal(t, test.held, got, test.why)
		})
	}
}

// The conditions name the limit and who has the place (SAFETY.md I27).
func TestHeldByALimitNamesThePlace(t *testing.T) {
	w := limited(t)
	w.external("one", "main:pg")
	w.settle(t)
	const limit = "web:store is limited to 1 relation and has two:main"
	first, second := w.between(t, "web:store-one:main"), w.between(t, "web:store-two:main")
	assert.Contains(t, found(first.State.Conditions, condition.Held).Message, limit)
	assert.Equal(t, relation.ReasonLimit, ready(first).Reason, "nothing over a limit is complete")
	assert.Equal(t, relation.ReasonNoUnit, ready(second).Reason)
	assert.Contains(t, w.told("web"), limit)
	assert.Equal(t, relation.ReasonLimit, w.says("web", condition.Stalled).Reason)
}

// However declarations come and go, relations that are not held never exceed a limit.
func TestLimitIsNeverExceeded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		providers := []string{"one", "two", "three"}
		limit := rapid.IntRange(1, 2).Draw(t, "limit")
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			name := rapid.SampledFrom(providers).Draw(t, "provider")
			switch rapid.IntRange(0, 4).Draw(t, "happens") {
			case 0:
				delete(w.services, name)
			case 1, 2:
				w.external(name, "main:pg")
			case 3:
				relations := rapid.SampledFrom([]string{"one", "two", "one,two", "two,one", "one,two,three", "three"}).Draw(t, "relations")
				w.consumes("web", fmt.Sprintf("store:pg!%d", limit), relations)
			case 4:
				w.now = w.now.Add(rapid.SampledFrom([]time.Duration{time.Second, time.Hour, 25 * time.Hour}).Draw(t, "later"))
			}
			if rapid.Bool().Draw(t, "looks") {
				w.settle(t)
			}
			count := 0
			for _, r := range w.relations {
				if r.Alive() && !r.Held() {
					count++
				}
			}
			assert.LessOrEqual(t, count, limit, "RELATIONS.md M3")
		}
	})
}
