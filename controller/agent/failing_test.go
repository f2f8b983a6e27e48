package agent

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// again has the turn that failed be owed now: a test waits for no pause.
func (s *stage) again() {
	s.agent.handlers.mu.Lock()
	defer s.agent.handlers.mu.Unlock()
	s.agent.handlers.failed.next = time.Time{}
}

// The controller hears of the first failed attempt, then each time that their number
// has doubled, and once that they have succeeded, before anything else is handled
// (RELATIONS.md L3).
func TestFailuresAreReported(t *testing.T) {
	s := newStage(t)
	for range 5 {
		s.done(s.next(), "exit code 4: no such table")
		s.nothing()
		s.again()
	}
	var attempts []int64
	for _, r := range s.controller.reports {
		attempts = append(attempts, r.GetAttempts())
	}
	assert.Equal(t, []int64{1, 2, 4}, attempts)
	first := s.controller.reports[0]
	assert.Equal(t, "store-relation-created (db)", first.GetEvent())
	assert.Equal(t, "r", first.GetRelation())
	assert.Equal(t, "exit code 4: no such table", first.GetSaid())

	s.done(s.next(), "")
	assert.Equal(t, "store-relation-changed", s.next().Hook)
	require.Len(t, s.controller.reports, 4)
	assert.Nil(t, s.controller.reports[3], "mended, and said so although there is more to handle")
	for range 3 {
		s.done(s.next(), "")
	}
	s.nothing()
	assert.Len(t, s.controller.reports, 4, "nothing new is nothing to say")
}

// What a process before this one has reported is put right: not before it is known
// to be wrong (RELATIONS.md L3).
func TestReportsAfterARestart(t *testing.T) {
	s := newStage(t)
	s.done(s.next(), "exit code 4: no such table")
	s.restart()
	s.next()
	assert.Empty(t, s.controller.reports, "it may go on failing")
	for range 4 {
		s.done(s.next(), "")
	}
	assert.Empty(t, s.controller.reports, "and then something else may")
	s.nothing()
	require.Len(t, s.controller.reports, 1)
	assert.Nil(t, s.controller.reports[0], "all is handled")
}

// A report that does not get through is made again, and nothing waits for it.
func TestReportsAreMadeAgain(t *testing.T) {
	s := newStage(t)
	s.controller.mute = errors.New("no controller")
	s.done(s.next(), "exit code 4: no such table")
	s.again()
	s.done(s.next(), "exit code 4: no such table")
	s.again()
	s.controller.mute = nil
	s.done(s.next(), "exit code 4: no such table")
	s.nothing()
	require.Len(t, s.controller.reports, 1)
	assert.EqualValues(t, 2, s.controller.reports[0].GetAttempts(), "as soon as it could be told")
	assert.Equal(t, 3, s.agent.handlers.failed.Attempts)
}

// The secrets that a handler has read or made are not in what is told to people
// (RELATIONS.md P5).
func TestReportsHideSecrets(t *testing.T) {
	s := newStage(t)
	s.controller.content = map[string][]byte{"password": []byte("hunter2")}
	s.controller.leader = &wire.LeadResponse{Leads: true, LeftMs: 60_000, Term: 1}
	turn := s.next()
	require.Zero(t, s.types(turn, "secret-get", "secret:9m4e2mr0ui3e8a215n4g").ExitCode)
	require.Zero(t, s.types(turn, "secret-add", "password=hunter3").ExitCode)
	require.NoError(t, s.agent.handlers.Done(t.Context(), Done{Context: turn.Context, Handled: true, Failure: "exit code 1: psql -p hunter2 || psql -p hunter3"}))
	s.nothing()
	require.Len(t, s.controller.reports, 1)
	assert.Equal(t, "exit code 1: psql -p [secret] || psql -p [secret]", s.controller.reports[0].GetSaid())
	assert.NotContains(t, s.agent.handlers.status(), "hunter")
}

// A failure lasts as long as its event is owed: the success of another does not end it,
// and what is owed no more does not fail (RELATIONS.md L3).
func TestFailuresEndWithTheirEvents(t *testing.T) {
	s := newStage(t)
	other := failure{Failure: status.Failure{Event: "other-relation-changed (pg)", Relation: "x", Attempts: 3}}
	s.agent.handlers.failed = other
	s.done(s.next(), "")
	assert.Equal(t, other, s.agent.handlers.failed)
	s.done(s.next(), "exit code 4: no such table")
	assert.Equal(t, 1, s.agent.handlers.failed.Attempts)
	gone := heardAt(2)
	gone.Relations = nil
	hear(s.agent, gone)
	s.nothing()
	assert.Equal(t, "all events are handled", s.agent.handlers.status())
	assert.Nil(t, s.controller.reports[len(s.controller.reports)-1])

	t.Log("another relation's event of the same name has not failed")
	s.agent.handlers.failed = failure{Failure: status.Failure{Event: "store-relation-created (db)", Relation: "ended", Attempts: 9}, next: time.Now().Add(time.Hour)}
	again := heardAt(3)
	again.Relations[0].Uid, again.Own[0].Relation = "anew", "anew"
	hear(s.agent, again)
	assert.Equal(t, "1", s.next().Env["ORCON_ATTEMPT"])
}

// A tool that a handler has left behind when its turn ends is too late.
func TestLateTools(t *testing.T) {
	s := newStage(t)
	for range 3 {
		s.done(s.next(), "")
	}
	turn := s.next()
	s.agent.handlers.turn.tools.Lock() // a tool runs
	ended := make(chan error)
	go func() {
		ended <- s.agent.handlers.Done(t.Context(), Done{Context: turn.Context, Handled: true})
	}()
	select {
	case <-ended:
		require.Fail(t, "the turn ends when its tools have")
	case <-time.After(50 * time.Millisecond):
	}
	s.agent.handlers.turn.tools.Unlock()
	require.NoError(t, <-ended)
	assert.Contains(t, string(s.types(turn, "relation-set", "a=b").Stderr), "ERROR gone: ")
}
