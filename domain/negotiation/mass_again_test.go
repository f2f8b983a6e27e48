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

// A namespace was deleted, and is made again under its name. What then ends in it within ten minutes are ends of their
// own, which wait for a person if they are many (TRUST.md T4).
func TestEndsAfterThoseOfANamespace(t *testing.T) {
	w := creditor(t, 9)
	tenants := w.consumers
	w.consumers = tenants[:1]
	before := w.sides
	w.sides = map[string]relation.Side{tenants[0].SideName(application.Provider): before[tenants[0].SideName(application.Provider)]}
	r := &w.consumers[0]
	r.Deleted, r.State.EndReason = w.now, relation.EndNamespaceDeleted
	w.settle(t)
	s := w.sides[r.SideName(application.Provider)]
	require.True(t, s.Owes())
	s.Teardown.Debt = conversation.Debt{Handled: true}
	w.sides[s.Name()] = s
	w.consumers = nil
	w.later(t, time.Minute)
	require.Empty(t, w.sides)

	w.consumers = tenants[1:]
	w.later(t, time.Minute)
	require.Len(t, w.sides, 8)
	for i := range w.consumers {
		r := &w.consumers[i]
		r.Deleted, r.State.EndReason = w.now, relation.EndDeleted
	}
	w.settle(t)
	for _, s := range w.sides {
		assert.True(t, s.Held(), s.Name())
	}
}
