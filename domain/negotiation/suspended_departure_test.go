package negotiation_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// A unit leaves while its relation is suspended, and the Offer returns hours later. Its departure is owed then: an agent that
// was away meanwhile, or whose handlers failed, still knows the unit (SAFETY.md E15, TRUST.md T7).
func TestDepartureWhileSuspended(t *testing.T) {
	w, _ := borrower(t)
	p := w.pods["web-1"]
	p.Address = "10.1.0.1"
	w.pods["web-1"] = p
	w.settle(t)
	offered := w.abroad
	w.abroad = nil
	w.settle(t)
	delete(w.pods, "web-1")
	w.settle(t)
	w.later(t, 3*time.Hour)
	assert.Empty(t, w.only(t).State.Departures, "SAFETY.md M7: the vault does not learn of it yet")

	w.abroad = offered
	w.settle(t)
	require.Len(t, w.only(t).State.Departures, 1)
	assert.Equal(t, "web/0", w.only(t).State.Departures[0].Unit.String())
	assert.Equal(t, "[vault.bank/0]", fmt.Sprint(w.only(t).State.Departures[0].Owed))
	w.answers(t, w.only(t).State.Departures[0].Owed[0], true)
	w.settle(t)
	w.later(t, time.Minute)
	w.later(t, 3*time.Hour)
	assert.Empty(t, w.only(t).State.Departures)
	assert.Empty(t, w.records["web"].State.Units, "it is forgotten then")
}

// The record of the provider, too, keeps a unit that leaves meanwhile.
func TestDepartureOfAProviderWhileSuspended(t *testing.T) {
	l := newLending(t)
	steps := l.steps()
	steps["withdraw"]()
	l.rests(t)
	steps["down"]()
	l.rests(t)
	for range 2 {
		steps["2h"]()
		l.rests(t)
	}
	steps["offer"]()
	l.rests(t)
	var r relation.Relation
	for _, one := range l.living() {
		r = one
	}
	require.Len(t, r.State.Departures, 1)
	assert.Equal(t, "db.bank/0", r.State.Departures[0].Unit.String())
	assert.Equal(t, "[web/0]", fmt.Sprint(r.State.Departures[0].Owed))
}
