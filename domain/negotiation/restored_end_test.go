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
)

// restored makes a relation again from a backup, with its identity, while its end is not over.
func (w *world) restored(t require.TestingT, r relation.Relation) {
	r = withoutStatus(r)
	r.Created, r.Object = w.now, "object-"+w.uid()
	w.relations[r.Name] = kept{r, true}
	w.settle(t)
}

// Many relations were deleted, their ends wait for a person, and the Relations are restored from a backup before that person
// decides. Those that are to be kept go on (TRUST.md T4 and T5).
func TestEndThatIsKeptAfterItsRelationIsRestored(t *testing.T) {
	w := tenants(t, 8)
	was := w.between(t, tenant(0)+":store-db:main")
	w.endOf(t, upTo(7)...)
	w.later(t, time.Minute)
	require.True(t, w.ofTenant(t, 0).Held())
	w.consumes(tenant(0), "store:pg", "db")
	w.restored(t, was)
	require.True(t, w.ofTenant(t, 0).Held(), "a person has yet to decide")

	s := w.ofTenant(t, 0)
	s.Choice = relation.ChoiceKeep
	w.sides[s.Name()] = s
	w.settle(t)
	assert.Nil(t, w.ofTenant(t, 0).Teardown)
	assert.Equal(t, was.UID, w.ofTenant(t, 0).Relation)
	assert.NotContains(t, w.says("db", condition.EndsHeld).Message, tenant(0))
}

// A Relation is restored from a backup while the end of its relation is owed. The side that owes it goes when that is handled,
// and the next one is of the relation that is there (TRUST.md T2 and T5).
func TestRelationThatIsRestoredWhileItsEndIsOwed(t *testing.T) {
	w := tenants(t, 1)
	was := w.between(t, tenant(0)+":store-db:main")
	w.endOf(t, 0)
	w.later(t, time.Minute)
	require.True(t, w.ofTenant(t, 0).Owes())
	w.consumes(tenant(0), "store:pg", "db")
	w.restored(t, was)
	require.True(t, w.ofTenant(t, 0).Owes(), "what is owed stays")

	s := w.ofTenant(t, 0)
	s.Teardown = &relation.Teardown{Since: s.Teardown.Since, Reason: s.Teardown.Reason, Debt: conversation.Debt{Handled: true}}
	w.sides[s.Name()] = s
	w.settle(t)
	w.later(t, time.Hour)
	assert.True(t, w.between(t, tenant(0)+":store-db:main").Alive())
	assert.Nil(t, w.ofTenant(t, 0).Teardown)
}

// A Relation that another one has taken over is restored from a backup. The pair is one relation, and the Relation that is
// not it says so; it goes on when the other is deleted (TRUST.md A11).
func TestRelationThatIsRestoredBesideItsHeir(t *testing.T) {
	w := twice(t)
	first := w.relations["first"].Relation
	w.remove("first", first.UID)
	w.settle(t)
	require.NotContains(t, w.relations, "first")
	w.now = w.now.Add(time.Minute)
	w.restored(t, first)
	assert.Equal(t, relation.Joined, w.relations["first"].State.Status)
	second := w.relations["second"]
	require.Equal(t, first.UID, second.UID)
	assert.Equal(t, relation.ReasonRelated, ready(second.Relation).Reason)
	assert.Contains(t, ready(second.Relation).Message, "Relation first already relates blog:store and db:main: delete this one")
	assert.Equal(t, relation.Failed, second.State.Status)

	w.remove("first", first.UID)
	w.settle(t)
	assert.Equal(t, relation.Joined, w.relations["second"].State.Status)
	assert.Nil(t, w.sides[first.SideName(application.Provider)].Teardown)
}
