package negotiation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// handle has the handlers handle all ends that they are owed, and returns how many.
func (w *world) handle(t require.TestingT) (handled int) {
	for name, s := range w.sides {
		if s.Owes() {
			s.Teardown.Debt = conversation.Debt{Handled: true}
			w.sides[name] = s
			handled++
		}
	}
	w.settle(t)
	return handled
}

// Of many relations no more than half reach handlers within ten minutes, also if more of them end than the record of the
// application lists (TRUST.md T4).
func TestMoreEndsThanARecordLists(t *testing.T) {
	w := tenants(t, 600)
	handled := 0
	for i := range 5 {
		w.endOf(t, upTo(600)[60*i:60*(i+1)]...)
		handled += w.handle(t)
		w.later(t, 70*time.Second)
	}
	assert.Greater(t, handled, 200)
	assert.LessOrEqual(t, handled, 300)
	w.endOf(t, 300)
	assert.True(t, w.ofTenant(t, 300).Teardown.Held)
	w.later(t, 10*time.Minute)
	w.endOf(t, 301)
	assert.True(t, w.ofTenant(t, 301).Owes(), "the others were long ago")
}

// The end of a namespace with many relations is one, and lets none of the others be forgotten (TRUST.md T4).
func TestEndOfALargeNamespaceHidesNoOthers(t *testing.T) {
	w := creditor(t, 300)
	for i := range 11 {
		w.consumes(tenant(1000+i), "store:pg", "db")
	}
	w.settle(t)
	w.endOf(t, 1000, 1001, 1002, 1003, 1004)
	require.Equal(t, 5, w.handle(t))
	w.later(t, 90*time.Second)

	all := w.consumers
	for len(all) > 0 { // no more than 64 ends are owed about one namespace
		now := all[:min(len(all), 64)]
		all = all[len(now):]
		for i := range now {
			now[i].Deleted, now[i].State.EndReason = w.now, relation.EndNamespaceDeleted
		}
		w.settle(t)
		require.Equal(t, len(now), w.handle(t))
		w.consumers = all
		w.settle(t)
	}
	w.later(t, 90*time.Second)
	w.endOf(t, 1005)
	assert.True(t, w.ofTenant(t, 1005).Teardown.Held, "with the namespace it is the seventh of twelve")
	assert.LessOrEqual(t, len(w.records["db"].State.Ends), 6, "one stands for the namespace")
}
