package negotiation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
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
