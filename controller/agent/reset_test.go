package agent

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
)

// restored is a snapshot of a store that went back.
func restored(revision uint64, ended bool, host string) *wire.Snapshot {
	return &wire.Snapshot{
		Revisions: map[string]uint64{"Databag": revision}, WentBack: true,
		Relations: []*wire.Relation{{Uid: "u", Id: 7, Endpoint: "db", Ended: ended, Complete: true, Bag: &wire.Databag{Data: map[string]string{"host": host}}}},
	}
}

// A snapshot of a restored store is used once a connection, although it is older, and a relation that had ended lives
// in it. The agent logs and counts it (TRUST.md T6).
func TestRestoredStoreIsAcceptedOnceAConnection(t *testing.T) {
	v := newVolumes(t, t.TempDir())
	a := New(settings(t, "db", ""), v.disk(), &controller{}, nil)
	a.Start()
	a.Connected()
	live := func(s *wire.Snapshot) *wire.Snapshot { s.WentBack = false; return s }
	host := func() string { return v.tree(t)["db"]["host"] }
	hear(a, live(restored(90, false, "new")))
	hear(a, live(restored(91, true, "new")))
	assert.Empty(t, host(), "it has ended")
	hear(a, live(restored(20, false, "old")))
	assert.Empty(t, host(), "an older snapshot is refused")

	hear(a, restored(20, false, "old"))
	assert.Equal(t, "old", host())
	hear(a, live(restored(21, false, "next")))
	assert.Equal(t, "next", host(), "revisions count from there")
	hear(a, restored(19, false, "older"))
	assert.Equal(t, "next", host(), "once a connection")
	a.Connected()
	hear(a, restored(19, false, "older"))
	assert.Equal(t, "older", host())
	var metrics strings.Builder
	require.NoError(t, a.WriteMetrics(&metrics))
	assert.Contains(t, metrics.String(), "orcon_agent_resets_total 2")
}

// A turn that began before the reset is over, and handlers hear what the restored store has, after a restart too.
func TestHandlersAfterReset(t *testing.T) {
	s := newStage(t)
	for range 4 {
		s.done(s.next(), "")
	}
	s.nothing()
	ended := heardAt(2)
	ended.Relations[0].Ended = true
	hear(s.agent, ended)
	for range 2 {
		s.done(s.next(), "")
	}
	s.nothing()

	again := heardAt(1)
	again.WentBack = true
	s.agent.Connected()
	hear(s.agent, again)
	turn := s.next()
	assert.Equal(t, "store-relation-created", turn.Hook)
	s.agent.Connected()
	hear(s.agent, again)
	require.ErrorIs(t, s.agent.handlers.Done(t.Context(), Done{Context: turn.Context}), ErrNoTurn)
	assert.Equal(t, "store-relation-created", s.next().Hook, "it is told again")
	s.restart()
	assert.Equal(t, "store-relation-created", s.next().Hook, "the reset is remembered")
}

// A restore may raise the revisions: then no snapshot is older, and a relation that had ended lives. It comes back into the
// files, each time that it does (TRUST.md T6).
func TestRestoredStoreWithHigherRevisions(t *testing.T) {
	v := newVolumes(t, t.TempDir())
	a := New(settings(t, "db", ""), v.disk(), &controller{}, nil)
	a.Start()
	a.Connected()
	host := func() string { return v.tree(t)["db"]["host"] }
	at := func(revision uint64, ended bool, host string) *wire.Snapshot {
		s := restored(revision, ended, host)
		s.WentBack = false
		return s
	}
	hear(a, at(90, false, "new"))
	hear(a, at(91, true, "new"))
	hear(a, at(80, false, "old"))
	assert.Empty(t, host(), "a replica that is behind shows it alive")
	hear(a, at(1_000_000, false, "old"))
	assert.Equal(t, "old", host())
	hear(a, at(1_000_001, true, "old"))
	assert.Empty(t, host(), "it ends again")
	hear(a, at(2_000_000, false, "older"))
	assert.Equal(t, "older", host(), "another restore")
	var metrics strings.Builder
	require.NoError(t, a.WriteMetrics(&metrics))
	assert.Contains(t, metrics.String(), "orcon_agent_resets_total 2")
}

// Handlers hear of a relation that had ended and lives again, also if the agent has restarted since.
func TestHandlersAfterARestoreWithHigherRevisions(t *testing.T) {
	for name, restarts := range map[string]bool{"the same process": false, "another process": true} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			for range 4 {
				s.done(s.next(), "")
			}
			ended := heardAt(2)
			ended.Relations[0].Ended = true
			hear(s.agent, ended)
			for range 2 {
				s.done(s.next(), "")
			}
			s.nothing()
			if restarts {
				s.restart()
			}
			hear(s.agent, heardAt(1_000_000))
			for _, hook := range []string{"store-relation-created", "store-relation-changed", "store-relation-joined"} {
				turn := s.next()
				assert.Equal(t, hook, turn.Hook)
				s.done(turn, "")
			}
		})
	}
}

// A revision of a secret that gets the number of a withdrawn one is announced, also after a restart of the agent.
func TestHandlersHearOfARevisionAgain(t *testing.T) {
	s := newStage(t)
	for range 4 {
		s.done(s.next(), "")
	}
	at := func(revision uint64, latest int64) {
		snapshot := heardAt(revision)
		snapshot.Secrets = []*wire.KnownSecret{{Id: "a", Latest: latest, Kept: 3}}
		hear(s.agent, snapshot)
	}
	changed := func() {
		t.Helper()
		turn := s.next()
		assert.Equal(t, "secret-changed", turn.Hook)
		s.done(turn, "")
	}
	at(2, 5)
	changed()
	at(1_000_000, 4)
	changed()
	at(1_000_001, 3)
	changed()
	s.restart()
	at(1_000_002, 5)
	changed()
	s.nothing()
}

// A unit that becomes the leader while it was cut off runs no handler on what it knew before: the leader before it may have
// written, or the store was restored (SAFETY.md P1, V4).
func TestNewLeaderWaitsForASnapshot(t *testing.T) {
	s := newStage(t)
	for range 4 {
		s.done(s.next(), "")
	}
	s.agent.Lost(errors.New("the controller is away"), false, 0)
	s.leader(&wire.LeadResponse{Leads: true, LeftMs: 60_000, Term: 4})
	s.nothing()
	leads, err := s.agent.speech.Leader(t.Context())
	require.NoError(t, err)
	assert.False(t, leads)

	s.agent.Connected()
	next := heardAt(2)
	next.Own[0].Application.Data["database"] = "of-the-leader-before"
	hear(s.agent, next)
	turn := s.next()
	assert.Equal(t, "leader-elected", turn.Hook)
	assert.Equal(t, "of-the-leader-before\n", string(s.types(turn, "relation-get", "-r", "store:7", "--app", "database", "web").Stdout))
	assert.Equal(t, "True\n", string(s.types(turn, "is-leader").Stdout))
}
