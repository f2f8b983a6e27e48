package agent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// leaves is what the agent hears when its pod begins to end.
func (s *stage) leaves(why conversation.Reason) {
	snapshot := heardAt(2)
	snapshot.Unit.Leaving = string(why)
	hear(s.agent, snapshot)
}

// A unit whose pod ends hears so while its handlers' container ends, and of nothing else:
// it departs itself, and nothing is final (SAFETY.md E14, RELATIONS.md E3, E4).
func TestHandlersHearOfTheirOwnEnd(t *testing.T) {
	s := newStage(t)
	for range 4 {
		s.done(s.next(), "")
	}
	s.leaves(conversation.ScaledDown)
	turn, owed := s.agent.handlers.Last(t.Context(), never)
	require.True(t, owed)
	assert.Equal(t, "store-relation-departed", turn.Hook)
	assert.Equal(t, "web/2", turn.Env["JUJU_DEPARTING_UNIT"])
	s.done(turn, "not yet")
	turn, owed = s.agent.handlers.Last(t.Context(), never)
	require.True(t, owed, "what has failed is told again")
	require.Equal(t, "2", turn.Env["ORCON_ATTEMPT"])
	s.done(turn, "")
	turn, owed = s.agent.handlers.Last(t.Context(), never)
	require.True(t, owed)
	assert.Equal(t, "store-relation-broken", turn.Hook)
	assert.Equal(t, "false", turn.Env["ORCON_FINAL"])
	assert.Equal(t, "scaled-down", turn.Env["ORCON_REASON"])
	s.done(turn, "")
	_, owed = s.agent.handlers.Last(t.Context(), never)
	assert.False(t, owed, "that was all")
}

// The end of a relation that a unit handles in its last seconds is reported, so that no other unit handles it again
// (TRUST.md T2).
func TestLastHandlersAnswerForAnEnd(t *testing.T) {
	s := newStage(t)
	s.controller.leader = &wire.LeadResponse{Leads: true, LeftMs: 60_000, Term: 1}
	for range 5 {
		s.done(s.next(), "")
	}
	snapshot := heardAt(2)
	snapshot.Unit.Leaving = string(conversation.ScaledDown)
	snapshot.Relations[0].Ended, snapshot.Relations[0].EndOwed = true, []int64{2}
	hear(s.agent, snapshot)
	for _, hook := range []string{"store-relation-departed", "store-relation-broken"} {
		turn, owed := s.agent.handlers.Last(t.Context(), never)
		require.True(t, owed)
		require.Equal(t, hook, turn.Hook)
		s.done(turn, "")
	}
	_, owed := s.agent.handlers.Last(t.Context(), never)
	assert.False(t, owed)
	assert.Equal(t, []string{"r handled"}, s.controller.left)
}

// A handler that has failed again and again is tried soon once its unit leaves: its pause may be longer than the grace period,
// and nothing else runs before it (TRUST.md T2).
func TestHandlersThatFailHearOfTheirOwnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		for range 3 {
			s.done(s.next(), "")
		}
		for range 8 {
			s.again()
			s.done(s.next(), "exit code 1: the database does not answer")
		}
		s.leaves(conversation.ScaledDown)
		assert.Equal(t, "store-relation-changed", s.next().Hook, "also over HTTP, where the server may still run")
		ctx, cancel := context.WithTimeout(t.Context(), unknownTime)
		defer cancel()
		var hooks []string
		for turn, owed := s.agent.handlers.Last(ctx, never); owed; turn, owed = s.agent.handlers.Last(ctx, never) {
			hooks = append(hooks, turn.Hook)
			failure := ""
			if len(hooks) < 3 {
				failure = "exit code 1: the database does not answer"
			}
			s.done(turn, failure)
		}
		changed := "store-relation-changed"
		assert.Equal(t, []string{changed, changed, changed, "store-relation-departed", "store-relation-broken"}, hooks)
	})
}

// hanging is a controller that answers no request for leadership, and with deaf set for no end.
type hanging struct {
	*controller

	deaf bool
}

// Lead waits until the request is given up.
func (hanging) Lead(ctx context.Context, _ *wire.LeadRequest) (*wire.LeadResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// Leave waits until the request is given up, if the controller is deaf.
func (h hanging) Leave(ctx context.Context, request *wire.LeaveRequest) (*wire.LeaveResponse, error) {
	if !h.deaf {
		return h.controller.Leave(ctx, request)
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// A request for an event whose runner has gone begins no turn when it is over with the request for leadership that it waited
// for: the runner of a container that ends has a turn by then, which would be dropped (TRUST.md T2).
func TestARequestWithoutARunnerBeginsNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		for range 4 {
			s.done(s.next(), "")
		}
		s.leader(&wire.LeadResponse{})
		s.agent.speech.speaker = hanging{s.controller, false}
		ctx, gone := context.WithCancel(t.Context())
		defer gone()
		older := make(chan error, 1)
		go func() {
			_, err := s.agent.handlers.Next(ctx)
			older <- err
		}()
		synctest.Wait()
		s.leaves(conversation.ScaledDown)
		turn, owed := s.agent.handlers.Last(t.Context(), never)
		require.True(t, owed)
		gone()
		err := <-older
		s.done(turn, "")
		require.ErrorIs(t, err, context.Canceled)
	})
}

// An answer for an end that the controller does not take costs a container that ends the time of one request, and not that of
// one for each event: its handlers have little time (TRUST.md T2).
func TestHandlersThatEndWaitForNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		for range 4 {
			s.done(s.next(), "")
		}
		snapshot := heardAt(2)
		ended := proto.CloneOf(snapshot.GetRelations()[0])
		ended.Uid, ended.Id, ended.Ended, ended.EndOwed = "q", ended.GetId()+1, true, []int64{2}
		snapshot.Relations, snapshot.Unit.Leaving = append(snapshot.Relations, ended), string(conversation.ScaledDown)
		hear(s.agent, snapshot)
		s.agent.speech.speaker = hanging{s.controller, true}
		began := time.Now()
		for _, hook := range []string{"store-relation-departed", "store-relation-broken"} {
			turn, owed := s.agent.handlers.Last(t.Context(), never)
			require.True(t, owed)
			assert.Equal(t, hook, turn.Hook)
			s.done(turn, "")
		}
		assert.Equal(t, answer, time.Since(began))
		s.agent.speech.speaker = hanging{s.controller, false}
		_, owed := s.agent.handlers.Last(t.Context(), never)
		assert.False(t, owed)
		assert.Equal(t, []string{"q"}, s.controller.left, "it is sent before the container ends")
	})
}

// A container that ends while its unit does not begins nothing more, and waits no longer
// for the news that it does than that may take.
func TestHandlersThatOnlyRestart(t *testing.T) {
	s := newStage(t)
	synctest.Test(t, func(t *testing.T) {
		h := &Handlers{speech: s.agent.speech, rung: make(chan struct{}, 1)}
		began := time.Now()
		_, owed := h.Last(t.Context(), never)
		assert.False(t, owed)
		assert.Equal(t, newsTime, time.Since(began))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, owed = h.Last(ctx, never)
		assert.False(t, owed)
		assert.Equal(t, newsTime, time.Since(began), "nobody asks any more")
	})
}

// The news that the unit leaves may come late, from a controller that is slow: its handlers still run, as long as the
// controller answers and the container may take (TRUST.md T2).
func TestHandlersHearOfTheirOwnEndLate(t *testing.T) {
	for name, late := range map[string]time.Duration{"Soon": 3 * time.Second, "Late": 14 * time.Second, "Never": time.Hour} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			for range 4 {
				s.done(s.next(), "")
			}
			synctest.Test(t, func(t *testing.T) {
				h := s.agent.handlers
				h.rung = make(chan struct{}, 1)
				time.AfterFunc(late, func() { s.leaves(conversation.Replaced) })
				ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
				defer cancel()
				began := time.Now()
				_, owed := h.Last(ctx, func() bool { return true })
				assert.Equal(t, name != "Never", owed)
				assert.Equal(t, min(late, 15*time.Second), time.Since(began))
				<-ctx.Done()
			})
		})
	}
}

// A pod that is known to end is awaited without the controller too: its reason may come when the stream is back
// (TRUST.md T2).
func TestHandlersAwaitTheReasonOfTheirEnd(t *testing.T) {
	s := newStage(t)
	for range 4 {
		s.done(s.next(), "")
	}
	synctest.Test(t, func(t *testing.T) {
		h := s.agent.handlers
		h.rung = make(chan struct{}, 1)
		h.speech.hear(ending(time.Now().Add(30 * time.Second)))
		time.AfterFunc(20*time.Second, func() { s.leaves(conversation.Replaced) })
		began := time.Now()
		_, owed := h.Last(t.Context(), never)
		assert.True(t, owed)
		assert.Equal(t, 20*time.Second, time.Since(began))
	})
}

// Handlers of a container that ends have until 2 s before the deadline of their pod, whenever that comes and however it
// changes (TRUST.md T2).
func TestTheTimeOfHandlersThatEnd(t *testing.T) {
	type news struct{ after, deadline time.Duration }
	tests := map[string]struct {
		why  string
		news []news
		want time.Duration
	}{
		"Default": {"a pod with 30 s of grace", []news{{0, 30 * time.Second}}, 28 * time.Second},
		"Long":    {"a pod with an hour", []news{{0, time.Hour}}, time.Hour - 2*time.Second},
		"Rest":    {"the pod's own containers ended before", []news{{0, 9 * time.Second}}, 7 * time.Second},
		"Late":    {"the news is late", []news{{20 * time.Second, time.Minute}}, 58 * time.Second},
		"Hurried": {"a person deletes it once more", []news{{0, time.Hour}, {10 * time.Second, 15 * time.Second}}, 13 * time.Second},
		"Past":    {"the kubelet leaves 2 s in any case", []news{{0, -time.Second}}, 2 * time.Second},
		"Unknown": {"what most pods have", nil, 28 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				speech, began := NewSpeech(nil), time.Now()
				for _, n := range test.news {
					time.AfterFunc(n.after, func() { speech.hear(ending(began.Add(n.deadline))) })
				}
				synctest.Wait()
				farewell(t.Context(), speech.Snapshot)
				assert.Equal(t, test.want, time.Since(began), test.why)
			})
		})
	}
}

// A pod of a StatefulSet that is only made again is gone as soon as that is known.
func TestHandlersOfAUnitThatReturns(t *testing.T) {
	s := newStage(t)
	snapshot := heardAt(2)
	snapshot.Unit.Returns = true
	hear(s.agent, snapshot)
	began := time.Now()
	_, owed := s.agent.handlers.Last(t.Context(), never)
	assert.False(t, owed)
	assert.Less(t, time.Since(began), newsTime)
}

// That a suspension was handled is told once, and again when there is another
// (RELATIONS.md L3).
func TestSuspensionsAreAnswered(t *testing.T) {
	s := newStage(t)
	hears := func(revision uint64, suspended bool) {
		snapshot := heardAt(revision)
		snapshot.Relations[0].Suspended = suspended
		hear(s.agent, snapshot)
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

// ending is what is known of a unit whose pod ends, before its application shows why.
func ending(deadline time.Time) conversation.Update {
	return conversation.Update{Own: conversation.Own{Known: true, Deadline: deadline}}
}

// never answers whether the controller does.
func never() bool { return false }
