package selftest

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/chunk"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
)

// A log is whole if it has each of its chunks, however often and in whichever order they came, and its end.
func TestWhole(t *testing.T) {
	first, last := chunk.Chunk{Stream: "stdout", Number: 1, Content: []byte("a")}, chunk.Chunk{Stream: "stdout", Number: 2, Content: []byte("b"), Last: true}
	hole := last
	hole.Missing = 3
	for name, tc := range map[string]struct {
		chunks []chunk.Chunk
		text   string
		whole  bool
	}{
		"whole":   {[]chunk.Chunk{first, last}, "ab", true},
		"again":   {[]chunk.Chunk{last, first, last}, "ab", true},
		"no end":  {[]chunk.Chunk{first}, "a", false},
		"a hole":  {[]chunk.Chunk{first, hole}, "ab", false},
		"no part": {[]chunk.Chunk{last}, "b", false},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLedger()
			for _, c := range tc.chunks {
				require.NoError(t, l.Write(t.Context(), c))
			}
			require.NoError(t, l.End(t.Context(), keeper.Holder{}, keeper.End{Outcome: job.Unchanged}))
			r, err := l.result(t.TempDir())
			require.NoError(t, err)
			assert.Equal(t, tc.text, r.Logs["stdout"])
			assert.Equal(t, tc.whole, r.Whole)
		})
	}
	require.Error(t, newLedger().Write(t.Context(), chunk.Chunk{File: "%"}))
}

// A process that was not started was not killed, and an end that was not recorded is no result.
func TestEnds(t *testing.T) {
	l := newLedger()
	_, err := l.result(t.TempDir())
	require.ErrorContains(t, err, "it has recorded no end")
	for want, p := range map[bool]exchange.Ended{true: {Code: 137, Ran: true, Killed: true}, false: {Code: 64, Killed: true}} {
		require.NoError(t, l.End(t.Context(), keeper.Holder{}, keeper.End{Outcome: job.None, Process: p}))
		r, err := l.result(t.TempDir())
		require.NoError(t, err)
		assert.Equal(t, want, r.Killed)
		assert.Equal(t, p.Code, r.Code)
	}
	require.NoError(t, l.End(t.Context(), keeper.Holder{}, keeper.End{Outcome: job.Committed, State: &keeper.State{Digest: "x"}}))
	_, err = l.result(t.TempDir())
	require.Error(t, err, "its state is not stored")
}

// What is stored is found again; states wait while they are held back, until their call ends.
func TestHeld(t *testing.T) {
	l, key := newLedger(), blob.Key{Workspace: "w", Fence: 1, Name: "state-1"}
	_, err := l.Get(t.Context(), key)
	require.ErrorIs(t, err, blob.ErrNotFound)
	release := l.hold()
	ended, end := context.WithCancel(t.Context())
	end()
	require.ErrorIs(t, l.Put(ended, key, strings.NewReader("a")), context.Canceled)
	stored := make(chan error, 1)
	go func() { stored <- l.Put(context.Background(), key, strings.NewReader("b")) }()
	release()
	require.NoError(t, <-stored)
	in, err := l.Get(t.Context(), key)
	require.NoError(t, err)
	text, err := io.ReadAll(in)
	require.NoError(t, err)
	assert.Equal(t, "b", string(text))
	found, err := l.Below(t.Context(), "w", 1, "")
	require.NoError(t, err)
	assert.Empty(t, found, "a run begins without a past")

	r, err := l.Renew(t.Context(), keeper.Holder{}, job.Delay{})
	require.NoError(t, err)
	assert.False(t, r.Cancel)
	l.cancel()
	r, err = l.Renew(t.Context(), keeper.Holder{}, job.Delay{})
	require.NoError(t, err)
	assert.True(t, r.Cancel)
	assert.Equal(t, 2, l.renewals())
}
