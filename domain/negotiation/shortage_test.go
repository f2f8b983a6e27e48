package negotiation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// TRUST.md U1: whose writes are put off is a condition of the application, which is as ready as before, and which goes
// by itself.
func TestWritesLimited(t *testing.T) {
	w := newWorld()
	w.deployment("db", map[string]string{application.KeyProvides: "main:pg", "data.tengu.io/main": "host: db"})
	w.settle(t)
	record := w.records["db"]
	record.State.Shortages = []status.Shortage{{Unit: 3, Budget: "Namespace", Since: w.now}, {Unit: 0, Budget: "Unit", Since: w.now.Add(-time.Minute)}}
	w.records["db"] = record
	w.settle(t)
	assert.Equal(t, "writes are put off: db/0 has used up the budget of its unit, db/3 has used up the budget of its namespace; write less, or less often",
		w.says("db", condition.WritesLimited).Message)
	assert.True(t, w.says("db", condition.Ready).True)
	w.later(t, time.Minute)
	assert.NotContains(t, w.says("db", condition.WritesLimited).Message, "db/0")
	w.later(t, time.Minute)
	assert.Zero(t, w.says("db", condition.WritesLimited), "it is over")
}
