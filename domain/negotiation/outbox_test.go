package negotiation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/negotiation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// post stores the outbox of a unit, which holds a transaction or is empty.
func (w *world) post(app, unit string, holds bool) relation.Outbox {
	o := relation.Outbox{Application: app, Unit: unit, Holds: holds}
	w.outboxes[o.Name()] = o
	return o
}

// A transaction that was committed is delivered by the next pass (SAFETY.md E11), also that of a unit that has gone.
func TestCommittedTransactionsAreDelivered(t *testing.T) {
	w := newWorld()
	b, a := w.post("b", "0", true), w.post("a", "0", true)
	decisions, _ := w.negotiate(t)
	assert.Equal(t, []relation.Decision{relation.Deliver{Outbox: a}, relation.Deliver{Outbox: b}}, decisions)
}

// An outbox goes when its unit has gone and it is empty (TRUST.md T10).
func TestOutboxesGoWithTheirUnits(t *testing.T) {
	w := newWorld()
	w.external("db", "main:pg")
	w.consumes("web", "store:pg", "db")
	w.pod(application.Deployment, "web", "web-0")
	w.pod(application.Deployment, "web", "web-1")
	w.settle(t)
	empty, full, unknown := w.post("web", "0", false), w.post("web", "1", true), w.post("web", "99", false)
	w.optedIn = false
	w.settle(t)
	assert.Contains(t, w.outboxes, empty.Name(), "both units live, as far as that is known")
	assert.Contains(t, w.outboxes, full.Name())
	assert.NotContains(t, w.outboxes, unknown.Name(), "it holds nothing of a unit that is not known")

	w.optedIn = true
	delete(w.pods, "web-0")
	unreadable, _ := negotiation.Negotiate(hide(w.observe(), relation.KindRecord, namespace, "web"))
	assert.NotContains(t, unreadable, relation.Discard{Outbox: empty}, "its units are not known")
	w.settle(t)
	assert.NotContains(t, w.outboxes, empty.Name())
	assert.Contains(t, w.outboxes, full.Name(), "its unit lives")

	w.post("web", "1", true)
	delete(w.pods, "web-1")
	first, _ := w.negotiate(t)
	assert.NotContains(t, first, relation.Discard{Outbox: w.outboxes[full.Name()]}, "it is delivered before")
	w.settle(t)
	assert.Empty(t, w.outboxes)

	w.post("web", "1", true)
	w.later(t, 2*time.Hour)
	assert.Empty(t, w.outboxes, "the unit is not remembered any more")
}

// What the API server refuses of a unit's transaction is a condition of its application, which is as ready as before,
// and goes with the refusal (TRUST.md T10).
func TestCommitRefused(t *testing.T) {
	w := newWorld()
	w.deployment("db", map[string]string{application.KeyProvides: "main:pg", "data.tengu.io/main": "host: db"})
	w.pod(application.Deployment, "db", "db-0")
	w.settle(t)
	refused := w.post("db", "0", false)
	refused.Refusal = "a policy refuses it"
	w.outboxes[refused.Name()] = refused
	w.settle(t)
	assert.Equal(t, "db/0: a policy refuses it", w.says("db", condition.CommitRefused).Message)
	assert.True(t, w.says("db", condition.Ready).True)
	assert.True(t, w.says("db", condition.Stalled).True, "a person must act")
	w.post("db", "0", false)
	w.settle(t)
	assert.Zero(t, w.says("db", condition.CommitRefused))
}
