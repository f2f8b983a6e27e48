package relation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// A relation that has ended waits for the handlers of both sides, names those that
// it waits for, and goes on without them after a while (RELATIONS.md L1, L4).
func TestTeardownWaitsForHandlers(t *testing.T) {
	w := newWorld()
	w.deployment("db", map[string]string{application.KeyProvides: "main:pg", "data.tengu.io/main": "host: db"})
	w.consumes("web", "store:pg", "db")
	w.pod(application.Deployment, "web", "web-0")
	w.pod(application.Deployment, "db", "db-0")
	p := w.pods["db-0"]
	p.Annotations = map[string]string{application.KeyHandlers: "/handlers"}
	w.pods["db-0"] = p
	w.settle(t)
	r := w.only(t)
	w.remove(r.Name, r.UID)
	w.settle(t)
	assert.Contains(t, ready(w.only(t)).Message, "it waits for handlers of db/0 since 2026-01-02T03:04:05Z, until 2026-01-02T03:14:05Z at the latest")
	w.later(t, time.Minute)
	assert.Len(t, w.relations, 1, "longer than agents need to hear of it")

	t.Log("handled")
	handled := w.relations[r.Name]
	handled.State.Left = []string{"db/0"}
	w.relations[r.Name] = handled
	w.settle(t)
	assert.NotEqual(t, r.UID, w.only(t).UID, "it is over, and the declaration makes another")

	t.Log("never handled")
	r = w.only(t)
	w.remove(r.Name, r.UID)
	w.later(t, 9*time.Minute)
	assert.Equal(t, r.UID, w.only(t).UID)
	w.later(t, 2*time.Minute)
	assert.NotEqual(t, r.UID, w.only(t).UID)
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

// What was granted for a relation can be read until its end was handled, by whoever has
// not yet, under the name that the secret's namespace gives it; nothing by who waits for an
// Offer (RELATIONS.md P2, M6).
func TestHeeds(t *testing.T) {
	key := relation.Key{
		Requirer: relation.End{Namespace: "shop", Application: "web", Endpoint: "store"},
		Provider: relation.End{Namespace: "shop", Application: "db", Endpoint: "main"},
	}
	abroad := key
	abroad.Provider.Namespace = "data"
	ended := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := map[string]struct {
		why       string
		r         relation.Relation
		namespace string
		unit      conversation.Unit
		want      bool
	}{
		"Lives":     {why: "it lives", r: relation.Relation{Key: key}, namespace: "shop", unit: conversation.Unit{Application: "web"}, want: true},
		"Ends":      {why: "web/0 has yet to hear of it", r: relation.Relation{Key: key, Deleted: ended, State: relation.State{Left: []string{"web/1"}}}, namespace: "shop", unit: conversation.Unit{Application: "web"}, want: true},
		"Handled":   {why: "it has", r: relation.Relation{Key: key, Deleted: ended, State: relation.State{Left: []string{"web/0"}}}, namespace: "shop", unit: conversation.Unit{Application: "web"}},
		"Stranger":  {why: "it is of neither end", r: relation.Relation{Key: key, Deleted: ended}, namespace: "shop", unit: conversation.Unit{Application: "thief"}},
		"Abroad":    {why: "in data it is called web.shop", r: relation.Relation{Key: abroad, Deleted: ended, State: relation.State{Offer: "all"}}, namespace: "data", unit: conversation.Unit{Application: "web.shop"}, want: true},
		"Left":      {why: "the Relation names it as its own namespace does", r: relation.Relation{Key: abroad, Deleted: ended, State: relation.State{Offer: "all", Left: []string{"web/0"}}}, namespace: "data", unit: conversation.Unit{Application: "web.shop"}},
		"Uncovered": {why: "the Offer was withdrawn before", r: relation.Relation{Key: abroad, Deleted: ended, Uncovered: true, State: relation.State{Offer: "all"}}, namespace: "data", unit: conversation.Unit{Application: "web.shop"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, test.r.Heeds(test.namespace, test.unit), test.why)
		})
	}
}
