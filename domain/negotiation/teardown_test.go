package negotiation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// The end of a relation is owed to the handlers of both sides, and the next relation of the pair waits for it, also
// when the Relation is gone (RELATIONS.md L1, L4, TRUST.md T2).
func TestEndIsOwed(t *testing.T) {
	w := newWorld()
	w.deployment("db", map[string]string{application.KeyProvides: "main:pg", "data.tengu.io/main": "host: db"})
	w.consumes("web", "store:pg", "db")
	w.pod(application.Deployment, "web", "web-0")
	web := w.pods["web-0"]
	web.Address = "10.0.0.1"
	w.pods["web-0"] = web
	handlers := func(pod string) {
		w.pod(application.Deployment, "db", pod)
		p := w.pods[pod]
		p.Annotations = map[string]string{application.KeyHandlers: "/handlers"}
		w.pods[pod] = p
	}
	handlers("db-0")
	w.settle(t)
	r := w.only(t)
	side := func() relation.Side { return w.sides[r.SideName(application.Provider)] }
	require.True(t, side().Known)
	assert.Equal(t, r.UID, side().Relation)
	assert.Equal(t, r.State.ID, side().ID)
	assert.Len(t, w.sides, 1, "web has no handlers")
	said := relation.Databag{Application: "db", Endpoint: "main", Relation: r.UID, Data: map[string]string{"user": "web"}}
	w.databags[said.Name()] = bag{said, true}

	w.remove(r.Name, r.UID)
	w.settle(t)
	assert.Equal(t, []conversation.Unit{{Application: "db"}}, side().Teardown.Owed)
	assert.Equal(t, []int{0}, side().Teardown.Others, "the units that the handlers may know")
	w.later(t, time.Minute)
	assert.Empty(t, w.relations, "what is owed keeps neither the object nor its name")
	assert.Contains(t, w.databags, said.Name(), "the handlers may still need their own bag")
	assert.Contains(t, w.says("web", condition.Ready).Message, "since 2026-01-02T03:04:05Z the end of the relation of main with web:store is owed to db/0")
	assert.Contains(t, w.says("db", condition.EndsOwed).Message, "owed to db/0")

	t.Log("nobody is there who knew it")
	delete(w.pods, "db-0")
	w.later(t, 24*time.Hour)
	assert.True(t, side().Teardown.Inherited(), "a provider's lasts until it is handled")
	handlers("db-1")
	w.settle(t)
	assert.True(t, side().Teardown.Inherited(), "a unit with an empty memory has not handled it")
	assert.Equal(t, []int{0}, side().Teardown.Others, "it has them depart first")

	t.Log("handled")
	handled := side()
	handled.Teardown = &relation.Teardown{Since: handled.Teardown.Since, Reason: handled.Teardown.Reason, Debt: handled.Teardown.Answered(conversation.Unit{Application: "db", Number: 1}, true)}
	w.sides[handled.Name()] = handled
	w.settle(t)
	next := w.only(t)
	assert.NotEqual(t, r.UID, next.UID, "it is over, and the declaration makes another")
	assert.Greater(t, next.State.ID, r.State.ID)
	assert.Equal(t, next.UID, side().Relation)
	assert.NotContains(t, w.databags, said.Name())
}

// A requirer's end is owed no longer than handlers may take (RELATIONS.md L4).
func TestEndOfRequirerIsNotOwedForEver(t *testing.T) {
	w := newWorld()
	w.external("db", "main:pg")
	w.consumes("web", "store:pg", "db")
	w.pod(application.Deployment, "web", "web-0")
	p := w.pods["web-0"]
	p.Annotations = map[string]string{application.KeyHandlers: "/handlers"}
	w.pods["web-0"] = p
	w.settle(t)
	r := w.only(t)
	w.remove(r.Name, r.UID)
	w.settle(t)
	w.later(t, 9*time.Minute)
	assert.Empty(t, w.relations)
	assert.Len(t, w.sides, 1)
	w.later(t, 2*time.Minute)
	assert.NotEqual(t, r.UID, w.only(t).UID)
}

// A relation that is lost with its object goes on under its identity and its id when it is made again (TRUST.md T0,
// T5).
func TestLostRelationGoesOn(t *testing.T) {
	for name, again := range map[string]func(*world, relation.Relation){
		"Declared": func(*world, relation.Relation) {},
		"Manual": func(w *world, r relation.Relation) {
			w.consumes("web", "store:pg", "")
			w.relate(relation.Pair{Key: r.Key, Interface: "pg"}, w.uid(), false, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.deployment("db", map[string]string{application.KeyProvides: "main:pg", "data.tengu.io/main": "host: db"})
			w.consumes("web", "store:pg", "db")
			w.pod(application.Deployment, "db", "db-0")
			p := w.pods["db-0"]
			p.Annotations = map[string]string{application.KeyHandlers: "/handlers"}
			w.pods["db-0"] = p
			w.settle(t)
			before := w.only(t)
			delete(w.relations, before.Name)
			again(w, before)
			w.settle(t)
			assert.Equal(t, before.UID, w.only(t).UID)
			assert.Equal(t, before.State.ID, w.only(t).State.ID)
			assert.Nil(t, w.sides[before.SideName(application.Provider)].Teardown)
		})
	}
}

// The record that alone holds the highest id stays until a higher one is stored
// elsewhere, not merely decided: of what is decided, any part may fail (SAFETY.md
// D10).
func TestIDIsKeptWhereTheNextFails(t *testing.T) {
	w := newWorld()
	w.external("db", "main:pg")
	w.consumes("web", "store:pg", "db")
	w.settle(t)
	first := w.only(t)
	w.clear()
	w.remove(first.Name, first.UID)
	w.later(t, time.Minute)
	require.Empty(t, w.relations)
	w.deployment("ring", map[string]string{application.KeyPeers: "members:gossip"})
	decisions, _ := w.negotiate(t)
	for _, d := range decisions {
		if forget, is := d.(relation.Forget); is {
			w.run([]relation.Decision{forget}, all) // and all else fails
		}
	}
	w.settle(t)
	assert.Greater(t, w.only(t).State.ID, first.State.ID)
}

// An application shows how many ends it has owed to its handlers for a while, the oldest first, to whom each is owed, and
// what helps (TRUST.md T2).
func TestEndsOwedAreShown(t *testing.T) {
	w := tenants(t, 3)
	w.endOf(t, 0)
	assert.Zero(t, w.records["db"].State.EndsOwed, "handlers may take a moment")
	w.later(t, time.Minute)
	assert.Equal(t, 1, w.records["db"].State.EndsOwed)
	w.endOf(t, 1)
	w.later(t, time.Minute)
	assert.Equal(t, 2, w.records["db"].State.EndsOwed)
	said := w.says("db", condition.EndsOwed).Message
	assert.Regexp(t, "^2 ends are owed, the oldest first: since 2026-01-02T03:04:05Z the end of the relation of main with web-0:store is owed to db/0, "+
		"since 2026-01-02T03:05:05Z the end of the relation of main with web-1:store is owed to db/0$", said)

	t.Log("its handler fails at the first")
	first := w.ofTenant(t, 0)
	w.failing("db", status.Failure{Event: "main-relation-broken", Relation: first.Relation, Attempts: 3, Since: w.now})
	w.settle(t)
	assert.Contains(t, w.says("db", condition.EndsOwed).Message,
		"web-0:store is owed to db/0: mend its handler (see condition HandlerFailed), or waive the end: orcon ends waive "+first.Name()+" -n shop, since")

	t.Log("it has no unit left")
	delete(w.pods, "db-0")
	w.later(t, time.Hour)
	assert.Equal(t, 2, w.records["db"].State.EndsOwed)
	assert.Contains(t, w.says("db", condition.EndsOwed).Message,
		"the first unit with handlers that leads: start one, or waive the end: orcon ends waive "+first.Name()+" -n shop, since")
	for _, i := range []int{0, 1} {
		s := w.ofTenant(t, i)
		s.Choice = relation.ChoiceWaive
		w.sides[s.Name()] = s
	}
	w.settle(t)
	assert.Zero(t, w.records["db"].State.EndsOwed)
	assert.Empty(t, w.says("db", condition.EndsOwed).Message)
}
