package workspace_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	. "gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace" //nolint:revive // the tests speak the words of the room
)

// A torn checkpoint is not proposed, and accepted only if a person says so.
func TestTornCheckpoint(t *testing.T) {
	w := must(t)(running(t).Save(Save{one, Checkpoint{blob(1, "c"), 1, true}}))
	w = must(t)(w.Lose(Evidence{Fence: 1, Vanished: true}))
	assert.Equal(t, AcceptGeneration, Propose(w))
	v := Verdict{Remedy: AcceptCheckpoint, Fence: 1, By: "ann"}
	_, err := w.Decide(v)
	require.ErrorIs(t, err, ErrWaits)
	v.Torn = true
	assert.Equal(t, "c", must(t)(w.Decide(v)).State.Digest)
}

// The last consistent checkpoint is what a person is offered, also where torn ones follow (JOBS-DESIGN.md 7, JOBS.md J8).
func TestConsistentCheckpoint(t *testing.T) {
	all := []Checkpoint{{blob(1, "c"), 1, false}, {blob(1, "t"), 2, true}}
	for _, order := range [][]int{{0, 1}, {0, 1, 0, 1}} {
		w := running(t)
		for _, at := range order {
			w = must(t)(w.Save(Save{one, all[at]}))
		}
		w = must(t)(w.Lose(Evidence{Fence: 1, Vanished: true}))
		assert.Equal(t, AcceptCheckpoint, Propose(w))
		w = must(t)(w.Decide(Verdict{Remedy: AcceptCheckpoint, Fence: 1, By: "ann", Uploaded: blob(1, "t")}))
		assert.Equal(t, "c", w.State.Digest)
		assert.True(t, w.Names("k-t"), "the torn one is an orphan")
	}
}
