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
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// tenants is a database with handlers and as many applications that it provides for.
func tenants(t require.TestingT, many int) *world {
	w := newWorld()
	w.deployment("db", map[string]string{application.KeyProvides: "main:pg", "data.tengu.io/main": "host: db"})
	w.handling(application.Deployment, "db", "db-0")
	for i := range many {
		w.consumes(tenant(i), "store:pg", "db")
	}
	w.settle(t)
	require.Len(t, w.relations, many)
	return w
}

func tenant(i int) string { return fmt.Sprintf("web-%d", i) }

// endOf lets a person delete the relations of tenants and what declares them.
func (w *world) endOf(t require.TestingT, tenants ...int) {
	for _, i := range tenants {
		r := w.between(t, tenant(i)+":store-db:main")
		w.consumes(tenant(i), "store:pg", "none")
		w.remove(r.Name, r.UID)
	}
	w.settle(t)
}

// ofTenant returns what the database keeps of its relation with a tenant.
func (w *world) ofTenant(t require.TestingT, i int) relation.Side {
	for _, s := range w.sides {
		if s.Requirer.Application == tenant(i) && s.Role == application.Provider {
			return s
		}
	}
	require.Fail(t, "no side", tenant(i))
	return relation.Side{}
}

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// What ends with many others waits for a person, who keeps it, confirms it or waives it (TRUST.md T4).
func TestMassEndsWait(t *testing.T) {
	w := tenants(t, 8)
	before := w.ofTenant(t, 0)
	w.endOf(t, upTo(7)...)
	w.later(t, time.Minute)
	assert.Len(t, w.relations, 1, "what is held is the end, not the object")
	for i := range 7 {
		assert.True(t, w.ofTenant(t, i).Teardown.Held, i)
		assert.False(t, w.ofTenant(t, i).Owes(), i)
	}
	assert.Contains(t, w.says("db", condition.EndsHeld).Message, "orcon ends keep")
	assert.Empty(t, w.says("db", condition.EndsOwed).Message)

	t.Log("declared again, it waits")
	w.consumes(tenant(0), "store:pg", "db")
	w.settle(t)
	assert.Contains(t, w.says(tenant(0), condition.Ready).Message, "waits for a person")

	choose := func(i int, c relation.Choice) {
		s := w.ofTenant(t, i)
		s.Choice = c
		w.sides[s.Name()] = s
	}
	choose(0, relation.ChoiceKeep)
	choose(1, relation.ChoiceConfirm)
	choose(2, relation.ChoiceWaive)
	w.settle(t)
	assert.Equal(t, before.Relation, w.between(t, tenant(0)+":store-db:main").UID, "kept: it goes on as the same")
	assert.Nil(t, w.ofTenant(t, 0).Teardown)
	assert.Equal(t, []conversation.Unit{{Application: "db"}}, w.ofTenant(t, 1).Teardown.Owed, "confirmed: db/0 handles it")
	assert.True(t, w.ofTenant(t, 1).Owes())
	assert.NotContains(t, w.sides, relation.Key{
		Requirer: relation.End{Namespace: namespace, Application: tenant(2), Endpoint: "store"},
		Provider: relation.End{Namespace: namespace, Application: "db", Endpoint: "main"},
	}.SideName(application.Provider), "waived: no handler runs")

	t.Log("a kept relation that ends again later ends as any other")
	w.later(t, time.Hour)
	w.endOf(t, 0)
	assert.True(t, w.ofTenant(t, 0).Owes())
}

// Five ends in a minute need no person, nor does a fifth of many; ends one by one are counted as those at once.
func TestFewEndsAreTold(t *testing.T) {
	t.Run("Five", func(t *testing.T) {
		w := tenants(t, 6)
		w.endOf(t, upTo(5)...)
		for i := range 5 {
			assert.True(t, w.ofTenant(t, i).Owes(), i)
		}
	})
	t.Run("AFifth", func(t *testing.T) {
		w := tenants(t, 40)
		w.endOf(t, upTo(8)...)
		assert.True(t, w.ofTenant(t, 7).Owes())
		w.endOf(t, 8)
		assert.True(t, w.ofTenant(t, 8).Teardown.Held)
	})
	t.Run("OneByOne", func(t *testing.T) {
		w := tenants(t, 8)
		for i := range 7 {
			w.endOf(t, i)
			if i < 5 {
				s := w.ofTenant(t, i)
				require.True(t, s.Owes(), i)
				s.Teardown.Debt = conversation.Debt{Handled: true} // and its side goes
				w.sides[s.Name()] = s
			}
			w.later(t, time.Second)
		}
		assert.True(t, w.ofTenant(t, 5).Teardown.Held)
		assert.True(t, w.ofTenant(t, 6).Teardown.Held)
	})
	t.Run("HalfInTenMinutes", func(t *testing.T) {
		w := tenants(t, 11)
		for i := range 6 {
			w.endOf(t, i)
			w.later(t, 90*time.Second)
		}
		assert.True(t, w.ofTenant(t, 5).Teardown.Held)
	})
	t.Run("Slowly", func(t *testing.T) {
		w := tenants(t, 8)
		for i := range 8 {
			w.endOf(t, i)
			assert.True(t, w.ofTenant(t, i).Owes(), i)
			w.later(t, 3*time.Minute)
		}
	})
	t.Run("Confirmed", func(t *testing.T) {
		w := tenants(t, 8)
		for i := range 8 {
			s := w.ofTenant(t, i)
			s.Choice = relation.ChoiceConfirm
			w.sides[s.Name()] = s
		}
		w.endOf(t, upTo(8)...)
		assert.True(t, w.ofTenant(t, 0).Owes())
	})
}

// However a provider's relations end, in whichever order, no more reach its handlers without a person than may.
func TestEndsThatReachHandlersAreFew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		many := rapid.IntRange(1, 14).Draw(t, "tenants")
		w := tenants(t, many)
		living, told := upTo(many), []time.Time{}
		for len(living) > 0 {
			now := rapid.IntRange(1, len(living)).Draw(t, "at once")
			w.endOf(t, living[:now]...)
			for _, i := range living[:now] {
				if w.ofTenant(t, i).Owes() {
					told = append(told, w.now)
				}
			}
			living = living[now:]
			w.later(t, time.Duration(rapid.IntRange(0, 120).Draw(t, "seconds"))*time.Second)
		}
		for _, at := range told {
			within := 0
			for _, other := range told {
				if !other.Before(at) && other.Before(at.Add(time.Minute)) {
					within++
				}
			}
			assert.LessOrEqual(t, within, 5)
		}
	})
}

// The ends of a namespace that is deleted are one, which waits for no person.
func TestEndsOfANamespaceAreOne(t *testing.T) {
	w := creditor(t, 8)
	for i := range w.consumers {
		r := &w.consumers[i]
		r.Deleted, r.State.EndReason = w.now, relation.EndNamespaceDeleted
	}
	w.settle(t)
	for _, s := range w.sides {
		assert.True(t, s.Owes(), s.Name())
	}
}

// Beyond 64 ends that an application owes about one namespace, a deleted relation keeps its object.
func TestDebtsAreBounded(t *testing.T) {
	w := creditor(t, 70)
	for i := range w.consumers {
		r := &w.consumers[i]
		r.Deleted, r.State.EndReason = w.now, relation.EndNamespaceDeleted
	}
	w.settle(t)
	owed := 0
	for _, s := range w.sides {
		if s.Owes() {
			owed++
		}
	}
	assert.Equal(t, 64, owed, "the others wait")
}

// creditor is a database with handlers that provides for as many applications of another namespace.
func creditor(t require.TestingT, many int) *world {
	w := newWorld()
	w.deployment("db", map[string]string{application.KeyProvides: "main:pg", "data.tengu.io/main": "host: db"})
	w.handling(application.Deployment, "db", "db-0")
	w.offers["an-offer"] = relation.Offer{Namespace: namespace, Name: "an-offer", Application: "db", Endpoint: "main", Consumers: known("office")}
	for i := range many {
		w.consumers = append(w.consumers, relation.Relation{
			Key: relation.Key{
				Requirer: relation.End{Namespace: "office", Application: tenant(i), Endpoint: "store"},
				Provider: relation.End{Namespace: namespace, Application: "db", Endpoint: "main"},
			},
			UID: fmt.Sprintf("relation-%d", i), Interface: "pg", Declared: true, State: relation.State{ID: i + 1, Offer: "an-offer"},
		})
	}
	w.settle(t)
	require.Len(t, w.sides, many)
	return w
}

// The requirer's end waits for the provider's, and is taken back with it.
func TestRequirersFollow(t *testing.T) {
	w, r := borrower(t)
	w.handling(application.Deployment, "web", "web-1")
	w.settle(t)
	mine := func() relation.Side { return w.sides[r.SideName(application.Requirer)] }
	require.True(t, mine().Known)
	w.consumes("web", "store:pg", "none")
	w.remove(r.Name, r.UID)
	w.settle(t)
	assert.True(t, mine().Teardown.Held, "the provider has yet to note it")
	held := func(choice relation.Choice, teardown *relation.Teardown) {
		theirs := lent(r)
		theirs[0].Choice, theirs[0].Teardown = choice, teardown
		w.abroad[0].Sides = theirs
		w.later(t, time.Minute)
	}
	held("", &relation.Teardown{Since: w.now, Reason: "Deleted", Held: true})
	assert.True(t, mine().Teardown.Held)
	assert.Empty(t, w.relations)
	noted := w.clone()
	held(relation.ChoiceKeep, nil)
	assert.Nil(t, mine().Teardown, "taken back")
	w = noted
	held(relation.ChoiceConfirm, &relation.Teardown{Since: w.now, Reason: "Deleted"})
	assert.True(t, mine().Owes(), "confirmed")
	assert.Equal(t, w.now, mine().Teardown.Since, "its handlers have their time from now on")
}

// The store takes a held end back for a choice alone, so that no decision that is older than the end does. The side of a
// requirer follows its provider's choice by that too, or it would stay held for ever, and no relation of the pair would
// be made again (TRUST.md T4).
func TestRequirersFollowByAChoice(t *testing.T) {
	w, r := borrower(t)
	w.handling(application.Deployment, "web", "web-1")
	w.settle(t)
	w.consumes("web", "store:pg", "none")
	w.remove(r.Name, r.UID)
	w.settle(t)
	w.abroad[0].Sides = lent(r)
	w.abroad[0].Sides[0].Teardown = &relation.Teardown{Since: w.now, Reason: "Deleted", Held: true}
	w.later(t, time.Minute)
	require.True(t, w.sides[r.SideName(application.Requirer)].Held())

	w.abroad[0].Sides = lent(r)
	w.abroad[0].Sides[0].Choice = relation.ChoiceKeep
	decisions, _ := w.negotiate(t)
	for _, d := range decisions {
		if keep, is := d.(relation.Keep); is {
			assert.Nil(t, keep.Teardown)
			assert.Equal(t, relation.ChoiceKeep, keep.Choice)
			return
		}
	}
	assert.Fail(t, "the side is not taken back")
}

// What is held has not ended for an application without handlers either, which keeps no side: its agents keep their files,
// which they would not write again for a relation that had ended. They learn of the end when it is confirmed (TRUST.md T4).
func TestHeldEndsAreNotShown(t *testing.T) {
	w := tenants(t, 8)
	for i := range 8 {
		w.pod(application.Deployment, tenant(i), tenant(i)+"-pod")
	}
	w.settle(t)
	life := func(i int) string {
		var all []relation.Relation
		for _, r := range w.relations {
			all = append(all, r.Relation)
		}
		name := tenant(i)
		v := relation.Look(namespace, relation.Record{Name: name, State: w.records[name].State}, all, values(w.sides), open())
		if len(v.Relations) == 0 {
			return "absent"
		}
		return string(v.Relations[0].Shown.Life)
	}
	for i := range 7 {
		r := w.between(t, tenant(i)+":store-db:main")
		w.remove(r.Name, r.UID)
	}
	for range 3 {
		decisions, _ := w.negotiate(t)
		for _, d := range decisions {
			w.run([]relation.Decision{d}, all)
			for i := range 7 {
				require.NotEqual(t, string(conversation.Ending), life(i), "%d after %T", i, d)
			}
		}
	}
	w.later(t, time.Minute)
	require.Len(t, w.relations, 1)
	assert.True(t, w.ofTenant(t, 0).Held())
	assert.Equal(t, "absent", life(0), "unknown, not ended")

	choose := func(i int, c relation.Choice) {
		s := w.ofTenant(t, i)
		s.Choice = c
		w.sides[s.Name()] = s
	}
	choose(0, relation.ChoiceKeep)
	choose(1, relation.ChoiceConfirm)
	w.settle(t)
	assert.Equal(t, string(conversation.Alive), life(0))
	assert.Equal(t, string(conversation.Ending), life(1))
}
