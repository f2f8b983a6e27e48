package agent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// leaves is what the agent hears when its pod begins to end.
func (s *stage) leaves(why conversation.Reason) {
	snapshot := heardAt(2)
	snapshot.Unit.Leaving = string(why)
	s.agent.Heard(snapshot)
}

// A unit whose pod ends hears so while its handlers' container ends, and of nothing else:
// it departs itself, and nothing is final (SAFETY.md E14, RELATIONS.md E3, E4).
func TestHandlersHearOfTheirOwnEnd(t *testing.T) {
	s := newStage(t)
	for range 4 {
		s.done(s.next(), "")
	}
	s.leaves(conversation.ScaledDown)
	turn, owed := s.agent.handlers.Last(t.Context())
	require.True(t, owed)
	assert.Equal(t, "store-relation-departed", turn.Hook)
	assert.Equal(t, "web/2", turn.Env["JUJU_DEPARTING_UNIT"])
	s.done(turn, "not yet")
	turn, owed = s.agent.handlers.Last(t.Context())
	require.True(t, owed, "what has failed is told again")
	require.Equal(t, "2", turn.Env["ORCON_ATTEMPT"])
	s.done(turn, "")
	turn, owed = s.agent.handlers.Last(t.Context())
	require.True(t, owed)
	assert.Equal(t, "store-relation-broken", turn.Hook)
	assert.Equal(t, "false", turn.Env["ORCON_FINAL"])
	assert.Equal(t, "scaled-down", turn.Env["ORCON_REASON"])
	s.done(turn, "")
	_, owed = s.agent.handlers.Last(t.Context())
	assert.False(t, owed, "that was all")
}

// A container that ends while its unit does not begins nothing more, and waits no longer
// for the news that it does than that may take.
func TestHandlersThatOnlyRestart(t *testing.T) {
	s := newStage(t)
	synctest.Test(t, func(t *testing.T) {
		h := &Handlers{speech: s.agent.speech, rung: make(chan struct{}, 1)}
		began := time.Now()
		_, owed := h.Last(t.Context())
		assert.False(t, owed)
		assert.Equal(t, newsTime, time.Since(began))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, owed = h.Last(ctx)
		assert.False(t, owed)
		assert.Equal(t, newsTime, time.Since(began), "nobody asks any more")
	})
}

// That a suspension was handled is told once, and again when there is another
// (RELATIONS.md L3).
func TestSuspensionsAreAnswered(t *testing.T) {
	s := newStage(t)
	hears := func(revision uint64, suspended bool) {
		snapshot := heardAt(revision)
		snapshot.Relations[0].Suspended = suspended
		s.agent.Heard(snapshot)
		for range 6 {
			t, _, _ := s.agent.handlers.begin()
			if t == nil {
				break
			}
			s.done(t.told("shop"), "")
		}
		require.NoError(t, s.agent.handlers.leave(t.Context()))
		require.NoError(t, s.agent.handlers.leave(t.Context()))
	}
	hears(2, false)
	assert.Empty(t, s.controller.left)
	hears(3, true)
	assert.Equal(t, []string{"r suspended"}, s.controller.left)
	hears(4, false)
	hears(5, true)
	assert.Equal(t, []string{"r suspended", "r suspended"}, s.controller.left)
}

// Tools in a pod of an ignored workload report why it is ignored.
func TestToolsOfAnIgnoredPod(t *testing.T) {
	s := newStage(t)
	s.agent.speech.hear(conversation.Update{Own: conversation.Own{Ignored: "StatefulSet web exists but is ignored"}})
	_, err := s.agent.speech.Snapshot()
	require.ErrorContains(t, err, "cannot use relations: StatefulSet web exists but is ignored")
}

// Who leaves does not become leader any more (SAFETY.md P1): a term would end with it.
func TestWhoLeavesIsNoCandidate(t *testing.T) {
	s := newStage(t)
	s.leaves(conversation.Replaced)
	s.controller.leads, s.controller.err = nil, errors.New("nobody asks")
	leads, err := s.agent.speech.Leader(t.Context())
	require.NoError(t, err)
	assert.False(t, leads)
	assert.Empty(t, s.controller.leads)
}
