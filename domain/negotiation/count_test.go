package negotiation_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// An id that a handler has received is not given again after the store was restored to a time before: the agent names it
// when it connects (TRUST.md T3).
func TestIDsAfterARestoreAreAboveThoseOfAgents(t *testing.T) {
	w := newWorld()
	w.external("db", "main:pg")
	w.consumes("web", "store:pg", "db")
	w.settle(t)
	restored := w.clone()
	w.consumes("shop", "store:pg", "db")
	w.settle(t)
	heard := w.between(t, "shop:store-db:main").State.ID

	count, err := relation.Count{LastRelation: restored.lastRelation}.Raise(heard)
	require.NoError(t, err)
	restored.lastRelation = count.LastRelation
	restored.consumes("bank", "store:pg", "db")
	restored.settle(t)
	assert.Greater(t, restored.between(t, "bank:store-db:main").State.ID, heard)
}
