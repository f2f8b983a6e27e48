package negotiation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// choose stores the choice of a person on the side by which the database provides to a tenant.
func (w *world) choose(t require.TestingT, i int, c relation.Choice) {
	s := w.ofTenant(t, i)
	s.Choice = c
	w.sides[s.Name()] = s
}

// lives returns how an application of a namespace finds the relation that it has; empty if it does not see any.
func (w *world) lives(in, name string, sides []relation.Side) conversation.Life {
	var all []relation.Relation
	for _, r := range w.relations {
		all = append(all, r.Relation)
	}
	v := relation.Look(in, relation.Record{Name: name, State: w.records[name].State}, all, sides, open())
	if len(v.Relations) == 0 {
		return ""
	}
	return v.Relations[0].Shown.Life
}

// A person waives an end that is held, or confirms it and the provider's handlers handle it at once. Agents without handlers
// have the time to hear that the relation has ended, as for any other end, and remove its files (TRUST.md T4, RELATIONS.md
// L4).
func TestDecidedEndsAreHeardByAgents(t *testing.T) {
	w := tenants(t, 8)
	for i := range 8 {
		w.pod(application.Deployment, tenant(i), tenant(i)+"-pod")
	}
	w.settle(t)
	for i := range 7 {
		r := w.between(t, tenant(i)+":store-db:main")
		w.consumes(tenant(i), "store:pg", "none")
		w.remove(r.Name, r.UID)
	}
	w.settle(t)
	w.later(t, time.Minute)
	life := func(i int) conversation.Life { return w.lives(namespace, tenant(i), values(w.sides)) }
	require.Empty(t, life(0), "held: lost")

	w.choose(t, 0, relation.ChoiceWaive)
	w.choose(t, 1, relation.ChoiceConfirm)
	w.settle(t)
	assert.Equal(t, conversation.Ending, life(0), "waived")
	handled := w.ofTenant(t, 1)
	handled.Teardown.Debt = conversation.Debt{Handled: true}
	w.sides[handled.Name()] = handled
	w.settle(t)
	assert.Equal(t, conversation.Ending, life(1), "confirmed, and handled")

	w.later(t, 10*time.Second)
	assert.Empty(t, life(0))
	assert.Empty(t, life(1))
	for _, s := range w.sides {
		assert.NotContains(t, []string{tenant(0), tenant(1)}, s.Requirer.Application, "nothing is owed")
	}
}

// The same holds for agents of another namespace, whose units the provider's does not know.
func TestDecidedEndsAreHeardAbroad(t *testing.T) {
	w := creditor(t, 7)
	for i := range w.consumers {
		r := &w.consumers[i]
		r.Deleted, r.State.EndReason = w.now, relation.EndDeleted
	}
	w.settle(t)
	w.consumers = nil
	w.later(t, time.Minute)
	require.True(t, w.ofTenant(t, 0).Held())
	life := func() conversation.Life { return w.lives("office", tenant(0), values(w.sides)) }
	require.Empty(t, life())

	w.choose(t, 0, relation.ChoiceWaive)
	w.settle(t)
	assert.Equal(t, conversation.Ending, life())
	w.later(t, 10*time.Second)
	assert.Empty(t, life())
	assert.Len(t, w.sides, 6)
}

// A namespace that was made again hears nothing of the ends of the one before it (TRUST.md T8).
func TestEndsOfAnEarlierNamespaceAreNotHeard(t *testing.T) {
	w := creditor(t, 1)
	r := &w.consumers[0]
	r.Deleted, r.State.EndReason = w.now, relation.EndNamespaceDeleted
	w.settle(t)
	w.consumers = nil
	w.settle(t)
	require.True(t, w.ofTenant(t, 0).Owes())
	assert.Empty(t, w.lives("office", tenant(0), values(w.sides)))
}

// A requirer's namespace does not decide about an end that its provider's is asked about: until that has, the relation
// has ended for neither side, and what is kept goes on (TRUST.md T4).
func TestProvidersDecide(t *testing.T) {
	for _, mine := range []relation.Choice{relation.ChoiceConfirm, relation.ChoiceKeep} {
		for _, early := range []bool{true, false} {
			name := string(mine)
			if early {
				name += "BeforeTheEnd"
			}
			t.Run(name, func(t *testing.T) {
				w, r := borrower(t)
				w.handling(application.Deployment, "web", "web-1")
				w.settle(t)
				requirer := func() relation.Side { return w.sides[r.SideName(application.Requirer)] }
				choose := func() {
					s := requirer()
					s.Choice = mine
					w.sides[s.Name()] = s
				}
				if early {
					choose()
				}
				theirs := func(choice relation.Choice, end *relation.Teardown) {
					w.abroad[0].Sides = lent(r)
					w.abroad[0].Sides[0].Choice, w.abroad[0].Sides[0].Teardown = choice, end
				}
				w.consumes("web", "store:pg", "none")
				w.remove(r.Name, r.UID)
				theirs("", &relation.Teardown{Since: w.now, Reason: "Deleted", Held: true})
				w.settle(t)
				choose()
				w.later(t, time.Minute)
				assert.True(t, requirer().Held())

				waits := w.clone()
				theirs(relation.ChoiceConfirm, &relation.Teardown{Since: w.now, Reason: "Deleted"})
				w.later(t, time.Minute)
				assert.True(t, requirer().Owes(), "confirmed")
				w = waits
				theirs(relation.ChoiceKeep, nil)
				w.later(t, time.Minute)
				assert.Nil(t, requirer().Teardown, "kept")
			})
		}
	}
}
