package bundle_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// TRUST.md R2: what the record has of a revision counts only as far as it is confirmed.
func TestDistrust(t *testing.T) {
	r := bundle.Record{Revisions: []bundle.Revision{
		{Number: 1, State: bundle.StateSuperseded, Begun: true, Healthy: true},
		{Number: 2, State: bundle.StateSuperseded},
		{Number: 3, State: bundle.StateFailed, Begun: true},
		{Number: 4, State: bundle.StateActive},
		{Number: 5, State: bundle.StateProposed, Healthy: true},
		{Number: 6, State: bundle.StateProposed},
	}}
	assert.Equal(t, r, bundle.Distrust(r, func(bundle.Revision) bool { return true }))
	assert.Equal(t, 3, bundle.Distrust(r, func(v bundle.Revision) bool { return v.Number == 3 }).Begun().Number)
	none := bundle.Distrust(r, func(bundle.Revision) bool { return false })
	assert.Zero(t, none.Begun())
	healthy, _ := none.Healthy()
	assert.Zero(t, healthy)
	for _, v := range none.Revisions[:5] {
		assert.Equal(t, bundle.StateSuperseded, v.State)
	}
	assert.Equal(t, bundle.StateProposed, none.Last().State, "it waits for approval as before")
}
