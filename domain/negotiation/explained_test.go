package negotiation_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// Each reason that any history brings about has a meaning.
func TestReasonsAreExplained(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		history(t, w, 12)
		w.settle(t)
		var all []condition.Condition
		for _, r := range w.relations {
			all = append(all, r.State.Conditions...)
		}
		for _, a := range w.records {
			all = append(all, a.State.Conditions...)
		}
		for _, c := range all {
			_, explained := condition.Explain(c.Type, c.Reason)
			assert.True(t, explained, "%s %s", c.Type, c.Reason)
		}
	})
}
