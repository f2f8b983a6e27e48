package agent

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// follows is what a unit that does not lead is shown: not its application's databag (RELATIONS.md P).
func follows(revision uint64) *wire.Snapshot {
	s := heardAt(revision)
	s.GetOwn()[0].Application = nil
	return s
}

// A unit that has begun to lead runs no handler as the leader before it is shown its application's databags: those of the
// leader before would read as empty (SAFETY.md V4).
func TestLeaderIsShownItsDatabags(t *testing.T) {
	s := newStage(t)
	hear(s.agent, follows(2))
	s.leader(&wire.LeadResponse{Leads: true, LeftMs: 60_000, Term: 4})
	assert.Equal(t, "store-relation-created", s.next().Hook)
	hear(s.agent, heardAt(3))
	elected := s.next()
	assert.Equal(t, "leader-elected", elected.Hook)
	assert.Equal(t, "d\n", string(s.types(elected, "relation-get", "-r", "7", "--app", "database", "web").Stdout))
}

// A unit that begins to lead while its handler runs is shown its application's databags with the answer: the handler could
// not read them before.
func TestHandlerThatBeginsToLeadReads(t *testing.T) {
	s := newStage(t)
	hear(s.agent, follows(2))
	turn := s.next()
	s.controller.leader = &wire.LeadResponse{Leads: true, LeftMs: 60_000, Term: 4}
	hear(s.agent, heardAt(3))
	require.Equal(t, "True\n", string(s.types(turn, "is-leader").Stdout))
	assert.Equal(t, "d\n", string(s.types(turn, "relation-get", "-r", "7", "--app", "database", "web").Stdout))
}

// A tool that only a leader may use goes by whether its unit leads now, as is-leader does, also if the handler has not run
// that: a refusal of who leads would be wrong.
func TestHandlerThatBeginsToLeadWrites(t *testing.T) {
	s := newStage(t)
	hear(s.agent, follows(2))
	turn := s.next()
	set := []string{"relation-set", "-r", "7", "--app", "database=e"}
	require.Contains(t, string(s.types(turn, set...).Stderr), "only the leader of web may")
	s.controller.leader = &wire.LeadResponse{Leads: true, LeftMs: 60_000, Term: 4}
	hear(s.agent, heardAt(3))
	written := s.types(turn, set...)
	require.Zero(t, written.ExitCode, "%s", written.Stderr)
	s.done(turn, "")
	require.Len(t, s.controller.commits, 1)
	commit := s.controller.commits[0]
	assert.EqualValues(t, 4, commit.GetTerm())
	assert.Equal(t, map[string]string{"database": databag.ValueVersion("d")}, commit.GetChanges()[0].GetSeen())
}

// A unit that leads, and has not received yet what the leader before has written, is told neither that it leads nor that it
// does not: its handler waits, and runs again if that takes long (RELATIONS.md E11).
func TestHandlerOfAnUninformedLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		hear(s.agent, follows(2))
		turn := s.next()
		s.controller.leader = &wire.LeadResponse{Leads: true, LeftMs: 60_000, Term: 4}
		time.AfterFunc(time.Second, func() { hear(s.agent, heardAt(3)) })
		assert.Equal(t, "True\n", string(s.types(turn, "is-leader").Stdout))
		s.done(turn, "")

		hear(s.agent, follows(4)) // its record was lost, and with it who leads
		next := s.next()
		assert.Equal(t, "store-relation-changed", next.Hook)
		for _, words := range [][]string{
			{"is-leader"}, {"relation-set", "--app", "database=e"}, {"relation-get", "--app", "database", "web"}, {"secret-add", "password=b"},
		} {
			answered := s.types(next, words...)
			assert.NotZero(t, answered.ExitCode, words)
			assert.Empty(t, answered.Stdout, words)
			assert.Contains(t, string(answered.Stderr), "has not received yet what the leader before has written", words)
		}
		s.done(next, "")
		assert.Contains(t, s.agent.handlers.status(), "store-relation-changed (db) failed, attempt 1")
		assert.Empty(t, s.controller.commits)
		hear(s.agent, heardAt(5))
		assert.Equal(t, "leader-elected", s.next().Hook)
	})
}

// A handler that has read a secret does not replace a revision that it has not seen: that of the leader before, where the
// unit has begun to lead since (DECISIONS.md 363). One that it reads before it writes is seen.
func TestHandlerReplacesNoRevisionThatItHasNotSeen(t *testing.T) {
	for name, test := range map[string]struct {
		again   bool
		content string
		commits int
	}{
		"unseen": {content: "password=old"}, "seen": {again: true, content: "password=old", commits: 1},
		"only a label": {content: "--label=admin", commits: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.controller.content = map[string][]byte{"password": []byte("old")}
			turn := s.next()
			require.Zero(t, s.types(turn, "secret-get", someID, "password").ExitCode)
			s.controller.latest = 2 // the leader before has written it, and has resigned
			s.controller.leader = &wire.LeadResponse{Leads: true, LeftMs: 60_000, Term: 4}
			if test.again {
				require.Zero(t, s.types(turn, "secret-get", someID, "password", "--peek").ExitCode)
			}
			require.Zero(t, s.types(turn, "secret-set", someID, test.content).ExitCode)
			s.done(turn, "")
			assert.Len(t, s.controller.commits, test.commits)
			status := s.agent.handlers.status()
			assert.Equal(t, test.commits == 0, strings.Contains(status, "was changed after it was read"), status)
		})
	}
}
