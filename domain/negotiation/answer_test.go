package negotiation_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// A person decides about an end while the object of the relation is still there, since agents have yet to hear of it or it
// has a finalizer of another program: that counts at once (TRUST.md T2, T4).
func TestChoicesCountWhileTheRelationIsThere(t *testing.T) {
	w := tenants(t, 8)
	for i := range 8 {
		w.pod(application.Deployment, tenant(i), tenant(i)+"-pod")
	}
	w.settle(t)
	w.endOf(t, upTo(7)...)
	require.Len(t, w.relations, 8, "agents have yet to hear of it")
	for i, choice := range []relation.Choice{relation.ChoiceConfirm, relation.ChoiceWaive} {
		s := w.ofTenant(t, i)
		require.True(t, s.Held())
		s.Choice = choice
		w.sides[s.Name()] = s
	}
	w.settle(t)
	assert.True(t, w.ofTenant(t, 0).Owes(), "confirmed")
	assert.True(t, w.ofTenant(t, 1).Teardown.Over(), "waived")
}
