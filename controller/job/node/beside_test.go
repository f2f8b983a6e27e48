package node_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
)

// beside has another machine join as the node of one that is adopted.
func (w *world) beside() *caller {
	text, err := w.Mint(w.t.Context(), "lab")
	require.NoError(w.t, err)
	c := w.caller()
	require.NoError(w.t, c.join(text))
	return c
}

// JOBS.md J13: a person decides which machine a RunNode is. One that joins beside an adopted one waits, and changes nothing.
func TestJoinsBeside(t *testing.T) {
	w := newWorld(t)
	first := w.adopted()
	w.offer(first)
	shown := w.nodes["lab"]
	second := w.beside()
	answer, err := second.sync("")
	require.NoError(t, err)
	assert.Contains(t, answer.GetStanding(), "Pending: ")
	assert.Empty(t, answer.GetAttempts())
	assert.Equal(t, shown.Seen, w.nodes["lab"].Seen, "what the other shows is not that of the machine")

	answer, err = first.sync("")
	require.NoError(t, err)
	assert.Contains(t, answer.GetStanding(), "Ready: ")
	assert.Contains(t, answer.GetStanding(), "orcon job node approve lab --key "+second.digest())
	assert.Len(t, answer.GetAttempts(), 1)

	w.change(func(n *domain.Node) { n.Adopted = second.digest() })
	_, err = first.sync("")
	w.denied(err, "the key is not that of the node")
	_, err = second.sync("")
	require.NoError(t, err)
}
