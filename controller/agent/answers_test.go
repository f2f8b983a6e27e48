package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

// A shell takes a question without an answer for the answer no: [ "$(is-leader)" = True ] || exit 0. An event that was
// handled so is sent again (RELATIONS.md E11). A refusal is an answer, and so is that of a second try.
func TestHandlersWithoutAnAnswer(t *testing.T) {
	away := errors.New("cannot reach the controller at orcon:8443: connection refused")
	for _, words := range [][]string{{"is-leader"}, {"secret-ids"}, {"secret-get", "9m4e2mr0ui3e8a215n4g"}, {"status-get"}, {"status-set", "active"}} {
		t.Run(words[0], func(t *testing.T) {
			s := newStage(t)
			s.controller.status = &wire.GetStatusResponse{}
			first := s.next()
			s.controller.err, s.controller.mute = away, away
			require.NotZero(t, s.types(first, words...).ExitCode)
			s.controller.err, s.controller.mute = nil, nil
			s.types(first, "relation-set", "name=n")
			s.done(first, "")
			assert.Contains(t, s.agent.handlers.status(), words[0]+" got no answer: "+away.Error())
			assert.Empty(t, s.controller.commits, "all of it is dropped")

			s.again()
			second := s.next()
			assert.Equal(t, first.Hook, second.Hook)
			assert.Equal(t, "2", second.Env["ORCON_ATTEMPT"])
			s.controller.err, s.controller.mute = away, away
			require.NotZero(t, s.types(second, words...).ExitCode)
			s.controller.err, s.controller.mute = nil, nil
			require.Zero(t, s.types(second, words...).ExitCode)
			s.done(second, "")
			assert.NotEqual(t, first.Hook, s.next().Hook, "it was handled")
		})
	}
}

// Only the same call makes up for one without an answer, and its arguments, which may be secret, are shown to nobody.
func TestHandlersWithoutAnAnswerOfOneCall(t *testing.T) {
	away := errors.New("cannot reach the controller at orcon:8443: connection refused")
	for name, test := range map[string]struct {
		unanswered, later []string
	}{
		"another secret":   {[]string{"secret-get", "9m4e2mr0ui3e8a215n4g"}, []string{"secret-get", "9m4e2mr0ui3e8a215n5g"}},
		"another format":   {[]string{"is-leader"}, []string{"is-leader", "--format", "json"}},
		"a wrong option":   {[]string{"secret-get", "9m4e2mr0ui3e8a215n4g"}, []string{"secret-get", "--no-such-option"}},
		"another password": {[]string{"secret-add", "password=hunter22"}, []string{"secret-add", "password=hunter23"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			first := s.next()
			s.controller.err = away
			require.NotZero(t, s.types(first, test.unanswered...).ExitCode)
			s.controller.err = nil
			s.types(first, test.later...)
			s.done(first, "")
			assert.Contains(t, s.agent.handlers.status(), test.unanswered[0]+" got no answer: "+away.Error())
			assert.NotContains(t, s.agent.handlers.status(), "hunter22")
			s.again()
			assert.Equal(t, first.Hook, s.next().Hook)
		})
	}
}

// What is put off has no answer yet; what is refused has one.
func TestHandlersWithARefusal(t *testing.T) {
	s := newStage(t)
	first := s.next()
	s.controller.err = &conversation.Error{Kind: conversation.NotYet, Message: "the budget is used up", Cure: "try again", Wait: 1}
	require.NotZero(t, s.types(first, "is-leader").ExitCode)
	s.controller.err = nil
	s.done(first, "")
	assert.Contains(t, s.agent.handlers.status(), "is-leader got no answer: the budget is used up")
	s.again()
	again := s.next()
	assert.Equal(t, first.Hook, again.Hook)
	s.controller.err = &conversation.Error{Kind: conversation.Forbidden, Message: "cannot read secret id", Cure: "ask for it"}
	require.NotZero(t, s.types(again, "secret-get", "9m4e2mr0ui3e8a215n4g").ExitCode)
	s.controller.err = nil
	s.done(again, "")
	assert.NotEqual(t, first.Hook, s.next().Hook)
}

// A unit that led when an end was announced, and no longer when its handler asked, has not handled it for its application
// (TRUST.md T2).
func TestHandlersDeposedDuringAnEnd(t *testing.T) {
	for answer, left := range map[string]string{"True\n": "r handled", "False\n": "r"} {
		t.Run(answer[:len(answer)-1], func(t *testing.T) {
			s := newStage(t)
			s.leader(&wire.LeadResponse{Leads: true, LeftMs: 20_000, Term: 1})
			for range 5 {
				s.done(s.next(), "")
			}
			s.ends(2, 2)
			s.done(s.next(), "") // departed
			broken := s.next()
			assert.Equal(t, "store-relation-broken", broken.Hook)
			if answer == "True\n" {
				s.leader(&wire.LeadResponse{Leads: true, LeftMs: 60_000, Term: 1})
			} else {
				s.leader(&wire.LeadResponse{})
			}
			assert.Equal(t, tool.Result{Stdout: []byte(answer)}, s.types(broken, "is-leader"))
			s.done(broken, "")
			s.nothing()
			s.nothing()
			assert.Equal(t, []string{left}, s.controller.left)
		})
	}
}

// After an outage, however long, a handler runs again within 10 s: a pod may wait for it. One that fails by itself is
// tried less and less often.
func TestHandlersAfterAnOutage(t *testing.T) {
	away := errors.New("cannot reach the controller at orcon:8443: connection refused")
	for name, test := range map[string]struct {
		does func(s *stage, turn Turn)
		most time.Duration
	}{
		"HandlerFails": {func(s *stage, turn Turn) { s.done(turn, "exit code 1: no such table") }, 5 * time.Minute},
		"ToolFails": {func(s *stage, turn Turn) {
			s.types(turn, "is-leader")
			s.done(turn, "exit code 1: cannot reach the controller")
		}, outage},
		"CommitFails": {func(s *stage, turn Turn) {
			s.types(turn, "relation-set", "name=n")
			s.done(turn, "")
		}, outage},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			for range 12 {
				turn := s.next()
				s.controller.err = away
				test.does(s, turn)
				s.controller.err = nil
				pause := time.Until(s.agent.handlers.failed.next)
				assert.LessOrEqual(t, pause, test.most)
				if turn.Env["ORCON_ATTEMPT"] == "12" {
					assert.Greater(t, pause, test.most/2)
				}
				s.again()
			}
		})
	}
}

// A tool that its handler ended while another one ran is not carried out, and answers nobody: the event comes again.
func TestToolThatEndsWhileItWaits(t *testing.T) {
	s := newStage(t)
	s.leader(&wire.LeadResponse{Leads: true, LeftMs: 60_000, Term: 1})
	first := s.next()
	turn, err := s.agent.handlers.at(first.Context)
	require.NoError(t, err)
	turn.tools.Lock() // another tool of the handler runs
	ctx, end := context.WithCancel(t.Context())
	over := make(chan tool.Result)
	go func() { over <- s.agent.runTool(ctx, tool.Call{Name: "is-leader", Env: first.Env}) }()
	end()
	turn.tools.Unlock()
	assert.NotZero(t, (<-over).ExitCode)
	s.done(first, "")
	s.again()
	assert.Equal(t, first.Hook, s.next().Hook)
}

// However large calls are that got no answer, little of them is kept, and nothing that may be secret (TRUST.md U2).
func TestAnswersAreSmall(t *testing.T) {
	s := newStage(t)
	first := s.next()
	s.controller.err = assert.AnError
	for _, n := range []string{"1", "2"} {
		s.agent.runTool(t.Context(), tool.Call{Name: "secret-add", Args: []string{"password=" + n + strings.Repeat("é", 15000)}, Env: first.Env})
	}
	turn, err := s.agent.handlers.at(first.Context)
	require.NoError(t, err)
	require.Len(t, turn.answers.missing, 2)
	assert.Less(t, len(fmt.Sprint(turn.answers)), 2000)
	assert.NotContains(t, fmt.Sprint(turn.answers), "password")
}

// An answer for which snapshots still ask after a while is sent again: it may have been stored in a Relation from which another
// one was taking over (SAFETY.md E15).
func TestAnswerIsSentAgain(t *testing.T) {
	s := newStage(t)
	for range 4 {
		s.done(s.next(), "")
	}
	gone := func(revision uint64) *wire.Snapshot {
		snapshot := heardAt(revision)
		r := snapshot.GetRelations()[0]
		r.Departed = []*wire.DepartedUnit{{Number: 0, Reason: "replaced", Owed: []int64{2}}}
		r.Units = nil
		return snapshot
	}
	hear(s.agent, gone(2))
	s.done(s.next(), "")
	s.nothing()
	hear(s.agent, gone(3))
	s.nothing()
	require.Len(t, s.controller.left, 1, "the controller may not have noted it yet")
	for said := range s.agent.handlers.era.left {
		s.agent.handlers.era.left[said] = time.Now().Add(-answerAgain)
	}
	hear(s.agent, gone(4))
	s.nothing()
	assert.Len(t, s.controller.left, 2)
}

// That is so also if nothing else happens: no further snapshot may come.
func TestAnswerIsSentAgainByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		for range 4 {
			s.done(s.next(), "")
		}
		s.ends(2, 2)
		for range 2 {
			s.done(s.next(), "")
		}
		wait := func(d time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			defer cancel()
			_, err := s.agent.handlers.Next(ctx)
			require.Error(t, err)
		}
		wait(answerAgain - time.Second)
		require.Len(t, s.controller.left, 1)
		wait(2 * time.Second)
		assert.Len(t, s.controller.left, 2)
		wait(answerAgain)
		assert.Len(t, s.controller.left, 3, "until it is noted")
		s.ends(3)
		wait(time.Hour)
		assert.Len(t, s.controller.left, 3)
	})
}
