package transaction

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/budget"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// TRUST.md U1: a commit costs the objects that it writes, whole, and its outbox; it adds what is not there yet.
func TestCost(t *testing.T) {
	one, two := change("one", true, "a", "1"), change("two", true, "b", strings.Repeat("x", 100<<10))
	stored := func(there bool) (s Stored) {
		s.SetBag(commit("").Bag(one).Name(), StoredBag{Data: map[string]string{"big": strings.Repeat("x", 400<<10)}, There: there})
		s.SetBag(commit("").Bag(two).Name(), StoredBag{There: there})
		s.SetOutbox(StoredOutbox{There: there})
		return s
	}
	bytes, adds := commit("t", one).Cost(stored(true), nil)
	assert.InDelta(t, 402<<10, bytes, 1<<10, "a byte of a large bag costs the bag")
	assert.Equal(t, budget.Holding{Bytes: 2}, adds)

	bytes, adds = commit("t", one, two).Cost(stored(true), nil)
	assert.InDelta(t, (402+102+104)<<10, bytes, 1<<10, "both bags, and the outbox twice")
	assert.Equal(t, budget.Holding{Bytes: 2 + 1 + 100<<10}, adds)

	_, adds = commit("t", one, two).Cost(stored(false), nil)
	assert.Equal(t, budget.Holding{Bags: 2, Outboxes: 1, Bytes: 2 + 1 + 100<<10}, adds)

	w := secret.Write{Kind: secret.Add}
	draft := secret.Draft{Write: w, Content: map[string][]byte{"password": make([]byte, 30<<10)}}
	bytes, adds = commit("t").Cost(Stored{}, []secret.Draft{draft})
	assert.InDelta(t, 42<<10, bytes, 1<<10, "a secret costs its own size")
	assert.Equal(t, budget.Holding{Secrets: 1}, adds)
}

// What an outbox could not hold is refused before it is the commit point (TRUST.md U1).
func TestPrepareRefusesWhatNoOutboxHolds(t *testing.T) {
	var changes []Change
	var s Stored
	for _, uid := range []string{"one", "two", "three"} {
		c := change(uid, true, "a", strings.Repeat("<", 60<<10))
		changes = append(changes, c)
		s.SetBag(commit("").Bag(c).Name(), StoredBag{})
	}
	_, err := commit("t", changes...).Prepare(s, true, schema.Catalog{}, schema.Off)
	require.ErrorIs(t, err, ErrInvalid)
	assert.Contains(t, err.Error(), "at most 917504 bytes as Kubernetes encodes them, these get 1105")
	_, err = commit("t", changes[:2]...).Prepare(s, true, schema.Catalog{}, schema.Off)
	require.NoError(t, err)
}
