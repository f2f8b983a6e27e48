package negotiation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// A unit that has gone is remembered while the API server refuses what it has committed: a later leader delivers what the
// units of the record have committed before it commits itself (TRUST.md T10).
func TestUnitsOfUndeliveredTransactionsAreRemembered(t *testing.T) {
	w := newWorld()
	w.external("db", "main:pg")
	w.consumes("web", "store:pg", "db")
	w.pod(application.Deployment, "web", "web-0")
	w.pod(application.Deployment, "web", "web-1")
	w.settle(t)
	refused := w.post("web", "1", true)
	delete(w.pods, "web-1")
	look := func() {
		decisions, _ := w.negotiate(t)
		for _, d := range decisions {
			if _, is := d.(relation.Deliver); !is { // that is refused
				w.run([]relation.Decision{d}, all)
			}
		}
	}
	listed := func() bool {
		for _, u := range w.records["web"].State.Units {
			if u.Number == 1 {
				return true
			}
		}
		return false
	}
	look()
	w.now = w.now.Add(2 * time.Hour)
	look()
	assert.Contains(t, w.outboxes, refused.Name())
	assert.True(t, listed(), "its transaction stands before those of later leaders")
	w.post("web", "1", false)
	w.settle(t)
	w.settle(t)
	assert.False(t, listed())
}
