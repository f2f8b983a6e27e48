package serve

import (
	"context"
	"errors"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// storeAt is a store at a revision, which counts how often it is read.
type storeAt struct {
	revision uint64
	broken   error
	reads    int
}

func (s *storeAt) Revisions(context.Context) (map[string]uint64, error) {
	s.reads++
	return map[string]uint64{"databags": s.revision}, s.broken
}

// An agent that has used later revisions than the store has is told that it went back, and no other: neither by a
// replica that only lags, nor by one whose own caches are of the store before (TRUST.md T6).
func TestWentBack(t *testing.T) {
	tests := map[string]struct {
		why  string
		used uint64
		live storeAt
		want connect.Code
	}{
		"Restored": {why: "the store is at 20, and the agent at 99", used: 99, live: storeAt{revision: 20}},
		"Lagging":  {why: "the store is at 99 too", used: 99, live: storeAt{revision: 99}, want: connect.CodeUnavailable},
		"Deaf":     {why: "the replica is at 10, later than the store", used: 99, live: storeAt{revision: 9}, want: connect.CodeUnavailable},
		"Unknown":  {why: "a read that fails is no answer", used: 99, live: storeAt{revision: 20, broken: errors.New("away")}, want: connect.CodeUnavailable},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := readyReplica()
			r.server.Live = &test.live
			s := dial(t, serveTLS(t, r))
			hello(t, s, "token-blog-1", map[string]uint64{"databags": test.used})
			message, err := s.Receive()
			if test.want != 0 {
				require.Equal(t, test.want, connect.CodeOf(err), test.why)
				return
			}
			require.NoError(t, err, test.why)
			first := message.GetSnapshot()
			assert.True(t, first.GetWentBack())
			assert.EqualValues(t, 10, first.GetRevisions()["databags"])
			r.publish("next", 11)
			message, err = s.Receive()
			require.NoError(t, err)
			assert.False(t, message.GetSnapshot().GetWentBack(), "once a connection")
		})
	}
}

// An agent that has used nothing later costs no read of the store.
func TestNoReadOfTheStore(t *testing.T) {
	r, live := readyReplica(), &storeAt{revision: 20}
	r.server.Live = live
	s := dial(t, serveTLS(t, r))
	hello(t, s, "token-blog-1", map[string]uint64{"databags": 10})
	message, err := s.Receive()
	require.NoError(t, err)
	assert.False(t, message.GetSnapshot().GetWentBack())
	assert.Zero(t, live.reads)
}

// A read that began before an agent connected says nothing about it, since the store may have been restored after the
// read. Agents that had connected when it began share it (TRUST.md T6).
func TestTheStoreIsReadAfterTheAgentConnected(t *testing.T) {
	var l lastRead
	live, first := &storeAt{revision: 99}, time.Now()
	at := func(connected time.Time) uint64 {
		revisions, err := l.since(t.Context(), live, connected)
		require.NoError(t, err)
		return revisions["databags"]
	}
	assert.EqualValues(t, 99, at(first))
	live.revision = 20
	assert.EqualValues(t, 99, at(first), "it is shared")
	assert.EqualValues(t, 20, at(time.Now()), "the store was restored since")
	assert.Equal(t, 2, live.reads)
}
