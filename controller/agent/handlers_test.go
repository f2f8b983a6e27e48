package agent

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/bindings"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

// stage is a pod whose handlers run.
type stage struct {
	t          *testing.T
	dir        string
	controller *controller
	agent      *Agent
}

func newStage(t *testing.T) *stage {
	s := &stage{t: t, dir: t.TempDir(), controller: &controller{revision: 1, leader: &wire.LeadResponse{}}}
	s.restart()
	return s
}

// restart is what a kubelet does with the agent's container.
func (s *stage) restart() {
	settings := settings(s.t, "store:pg", "")
	settings.Namespace, settings.Tools = "shop", []string{injection.HandlerContainer}
	disk := newVolumes(s.t, s.dir).disk()
	disk.Told = bindings.NewPair(s.dir + "/state/told")
	s.agent = New(settings, disk, s.controller, nil)
	s.agent.Start()
	hear(s.agent, heardAt(1))
}

// next is the next turn; there must be one.
func (s *stage) next() Turn {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Second)
	defer cancel()
	turn, err := s.agent.handlers.Next(ctx)
	require.NoError(s.t, err)
	return turn
}

// leader is what the controller answers to the next request for leadership, which is due.
func (s *stage) leader(is *wire.LeadResponse) {
	s.controller.leader = is
	s.agent.handlers.candidate.mu.Lock()
	defer s.agent.handlers.candidate.mu.Unlock()
	s.agent.handlers.candidate.at = time.Time{}
}

func (s *stage) nothing() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 50*time.Millisecond)
	defer cancel()
	turn, err := s.agent.handlers.Next(ctx)
	require.Error(s.t, err, "but there is %s", turn.Hook)
}

// ends is what the agent receives of the end of its relation: the units that are asked whether they have
// handled it. Without any, the leader inherits it.
func (s *stage) ends(revision uint64, owed ...int64) {
	snapshot := heardAt(revision)
	r := snapshot.GetRelations()[0]
	r.Ended, r.EndOwed, r.EndInherited = true, owed, len(owed) == 0
	hear(s.agent, snapshot)
}

func (s *stage) done(turn Turn, failure string) {
	s.t.Helper()
	require.NoError(s.t, s.agent.handlers.Done(s.t.Context(), Done{Context: turn.Context, Handled: true, Failure: failure}))
}

// types runs a tool as the handler of a turn does.
func (s *stage) types(turn Turn, words ...string) tool.Result {
	return s.agent.runTool(s.t.Context(), tool.Call{Name: words[0], Args: words[1:], Env: turn.Env})
}

// Events come one at a time and in Juju's order, with what Juju's handlers know
// (RELATIONS.md E1, E5, E6, E7).
func TestHandlersHear(t *testing.T) {
	s := newStage(t)
	var hooks []string
	for range 4 {
		turn := s.next()
		hooks = append(hooks, turn.Hook+" "+turn.Env[tool.RemoteUnit])
		assert.Equal(t, "store:7", turn.Env[tool.RelationID])
		assert.Equal(t, "db", turn.Env[tool.RemoteApp])
		assert.Equal(t, "web/2", turn.Env["JUJU_UNIT_NAME"])
		assert.Equal(t, "shop", turn.Env["JUJU_MODEL_NAME"])
		s.done(turn, "")
	}
	assert.Equal(t, []string{"store-relation-created ", "store-relation-changed ", "store-relation-joined db/0", "store-relation-changed db/0"}, hooks)
	s.nothing()
	assert.Equal(t, "all events are handled", s.agent.handlers.status())
}

// No handler runs before its unit's address is known, which it may give to others at
// once (RELATIONS.md L2).
func TestHandlersWaitForTheirAddress(t *testing.T) {
	s := newStage(t)
	early := heardAt(2)
	early.Own = nil
	hear(s.agent, early)
	s.nothing()
	assert.Equal(t, "waiting until the controller knows the address of this pod", s.agent.handlers.status())
	known := heardAt(3)
	known.Own[0].Bag.Data["ingress-address"] = "10.0.0.2"
	hear(s.agent, known)
	turn := s.next()
	assert.Equal(t, "store-relation-created", turn.Hook)
	assert.Equal(t, tool.Result{Stdout: []byte("10.0.0.2\n")}, s.types(turn, "relation-get", "ingress-address", "web/2"))
}

// What a handler says is stored when it succeeds and dropped when it fails; then
// it is called again, after a pause, and a person sees why (RELATIONS.md E11).
func TestHandlersSpeakInTransactions(t *testing.T) {
	s := newStage(t)
	turn := s.next()
	require.Zero(t, s.types(turn, "relation-set", "name=n").ExitCode)
	assert.Equal(t, "n\n", string(s.types(turn, "relation-get", "name", "web/2").Stdout), "it reads its own writes")
	assert.Empty(t, s.controller.commits, "nobody else does, until it is done")
	s.done(turn, "exit code 3: no such table")
	assert.Empty(t, s.controller.commits, "it failed")
	assert.Contains(t, s.agent.handlers.status(), "store-relation-created (db) failed, attempt 1, next attempt at ")
	assert.Contains(t, s.agent.handlers.status(), "exit code 3: no such table")

	began := time.Now()
	again := s.next()
	assert.GreaterOrEqual(t, time.Since(began), time.Second/2, "not at once")
	assert.Equal(t, turn.Hook, again.Hook)
	assert.Equal(t, "2", again.Env["ORCON_ATTEMPT"])
	require.Zero(t, s.types(again, "relation-set", "name=m").ExitCode)
	late := s.types(turn, "relation-set", "name=x")
	assert.Contains(t, string(late.Stderr), "ERROR gone: ", "the first attempt's time is over")
	s.done(again, "")
	require.Len(t, s.controller.commits, 1)
	change := s.controller.commits[0].GetChanges()[0]
	assert.Equal(t, map[string]string{"name": "m"}, change.GetSet())
	assert.Equal(t, map[string]string{"name": ""}, change.GetSeen(), "the store has a newer value if an attempt was stored whose answer was lost")
	require.ErrorIs(t, s.agent.handlers.Done(t.Context(), Done{Context: again.Context}), ErrNoTurn, "done is done")
}

// A unit that does not lead requests leadership every few seconds, not with each event (TRUST.md U1).
func TestHandlersRequestLeadershipRarely(t *testing.T) {
	s := newStage(t)
	for range 4 {
		s.done(s.next(), "")
	}
	assert.Len(t, s.controller.leads, 1)
}

// A restart of anything repeats at most the last event (DESIGN: memory is saved
// after each; RELATIONS.md E1).
func TestHandlersRemember(t *testing.T) {
	s := newStage(t)
	s.done(s.next(), "")
	second := s.next()
	s.restart()
	again := s.next()
	assert.Equal(t, second.Hook, again.Hook, "it was not done")
	assert.NotEqual(t, second.Context, again.Context)
	s.done(again, "")
	s.restart()
	assert.Equal(t, "store-relation-joined", s.next().Hook, "what was done is not told again")

	t.Log("and a runner that is gone is followed by the next")
	assert.Equal(t, "store-relation-joined", s.next().Hook)
}

// A leader hears that it leads (SAFETY.md P1).
func TestHandlersHearOfLeadership(t *testing.T) {
	s := newStage(t)
	s.leader(&wire.LeadResponse{Leads: true, LeftMs: 60_000, Term: 1})
	turn := s.next()
	assert.Equal(t, "leader-elected", turn.Hook)
	assert.Equal(t, "True\n", string(s.types(turn, "is-leader").Stdout))
	s.done(turn, "")
	asks := s.next()
	require.Zero(t, s.types(asks, "relation-set", "--app", "database=e").ExitCode)
	s.done(asks, "")
	assert.True(t, s.controller.commits[0].GetChanges()[0].GetApplication())
}

// The end of a relation is handled, and then the controller hears that it was: it
// waits for that (RELATIONS.md L4, SAFETY.md E14).
func TestHandlersLeave(t *testing.T) {
	s := newStage(t)
	for range 4 {
		s.done(s.next(), "")
	}
	s.ends(2, 2)
	turn := s.next()
	assert.Equal(t, "store-relation-departed", turn.Hook)
	s.done(turn, "")
	turn = s.next()
	assert.Equal(t, "store-relation-broken", turn.Hook)
	assert.Equal(t, "true", turn.Env["ORCON_FINAL"])
	assert.Empty(t, s.controller.left, "not yet")
	s.done(turn, "")
	s.nothing()
	s.nothing()
	assert.Equal(t, []string{"r"}, s.controller.left, "once")

	t.Log("no unit has handled it for the application: that is left to the leader")
	s.leader(&wire.LeadResponse{Leads: true, LeftMs: 60_000, Term: 1})
	s.ends(3)
	turn = s.next()
	assert.Equal(t, "leader-elected", turn.Hook)
	s.done(turn, "")
	s.done(s.next(), "exit code 1: cannot drop the database")
	s.again()
	turn = s.next()
	assert.Equal(t, "store-relation-broken", turn.Hook)
	assert.Equal(t, "true", turn.Env["ORCON_FINAL"])
	assert.Len(t, s.controller.left, 1, "not yet")
	s.done(turn, "")
	s.nothing()
	s.nothing()
	assert.Equal(t, []string{"r", "r handled"}, s.controller.left, "once more")
}

// The answer for an end is sent until it is accepted, and once by each process that is asked for it; the end
// is not handled again after a restart (TRUST.md T2).
func TestHandlersAnswerForTheEndUntilAccepted(t *testing.T) {
	s := newStage(t)
	s.leader(&wire.LeadResponse{Leads: true, LeftMs: 60_000, Term: 1})
	for range 5 {
		s.done(s.next(), "")
	}
	s.ends(2, 2)
	for range 2 {
		s.done(s.next(), "")
	}
	s.controller.err = errors.New("the controller is away")
	require.Error(t, s.agent.handlers.leave(t.Context()))
	s.controller.err = nil
	require.NoError(t, s.agent.handlers.leave(t.Context()))
	require.NoError(t, s.agent.handlers.leave(t.Context()))
	assert.Equal(t, []string{"r handled", "r handled"}, s.controller.left)

	s.restart()
	s.ends(2)
	s.controller.left = nil
	s.nothing()
	s.nothing()
	assert.Equal(t, []string{"r handled"}, s.controller.left)
}

// A unit that always has an event to handle answers for an end all the same: otherwise no unit inherits it (TRUST.md T2).
func TestBusyHandlersAnswerForAnEnd(t *testing.T) {
	s := newStage(t)
	snapshot := heardAt(2)
	ended := proto.CloneOf(snapshot.GetRelations()[0])
	ended.Uid, ended.Id, ended.Ended, ended.EndOwed = "q", ended.GetId()+1, true, []int64{2}
	snapshot.Relations = append(snapshot.Relations, ended)
	hear(s.agent, snapshot)
	assert.Equal(t, "store-relation-created", s.next().Hook)
	assert.Equal(t, []string{"q"}, s.controller.left)
}

// A secret is refreshed when the handler that does so has succeeded, so that one that
// fails hears again that it has changed; until then the handler reads what it has
// refreshed (RELATIONS.md E11).
func TestHandlersRefreshWhenTheySucceed(t *testing.T) {
	s := newStage(t)
	for range 4 {
		s.done(s.next(), "")
	}
	heard := heardAt(2)
	heard.Secrets = []*wire.KnownSecret{{Id: someID, Label: "orders", Latest: 2, Kept: 1}}
	hear(s.agent, heard)
	reads := func(turn Turn, words ...string) *wire.GetSecretRequest {
		result := s.types(turn, append([]string{"secret-get"}, words...)...)
		require.Zero(t, result.ExitCode, string(result.Stderr))
		return s.controller.gets[len(s.controller.gets)-1]
	}
	peeks := func(r *wire.GetSecretRequest) bool { return r.GetPeek() && !r.GetRefresh() }
	turn := s.next()
	assert.False(t, peeks(reads(turn, someID)), "it reads what it keeps to")
	assert.True(t, peeks(reads(turn, someID, "--refresh")))
	assert.True(t, peeks(reads(turn, someID)), "it reads what it has refreshed")
	assert.True(t, peeks(reads(turn, "--label", "orders")), "by its name for it too")
	assert.False(t, peeks(reads(turn, "--label", "another")))
	asked := len(s.controller.gets)
	s.done(turn, "exit code 1: the database did not take it")
	assert.Len(t, s.controller.gets, asked, "nothing was refreshed")

	t.Log("it is told again while that cannot be noted, and not for ever")
	for _, err := range []error{errors.New("the controller is away"), &conversation.Error{Kind: conversation.Gone, Message: "there is a later one"}} {
		s.again()
		turn = s.next()
		assert.Equal(t, "secret-changed", turn.Hook)
		assert.True(t, peeks(reads(turn, someID, "--refresh")))
		s.controller.err = err
		s.done(turn, "")
		s.controller.err = nil
		kept := s.controller.gets[len(s.controller.gets)-1]
		assert.True(t, kept.GetRefresh())
		assert.Equal(t, someID+" 1", fmt.Sprint(kept.GetId(), " ", kept.GetRevision()), "what it has used, not what came after")
	}
	s.nothing()
}

// A handler hears that a secret has a new revision, once and in Juju's words, and a
// leader that one is due when the time comes, although nothing else happens.
func TestHandlersHearOfSecrets(t *testing.T) {
	s := newStage(t)
	for range 4 {
		s.done(s.next(), "")
	}
	knows := func(revision uint64, secrets ...*wire.KnownSecret) {
		heard := heardAt(revision)
		heard.Secrets = secrets
		hear(s.agent, heard)
	}
	read := &wire.KnownSecret{Id: "9m4e2mr0ui3e8a215n4g", Label: "orders", Latest: 2, Kept: 1}
	knows(2, read)
	turn := s.next()
	assert.Equal(t, "secret-changed", turn.Hook)
	assert.Equal(t, "secret:9m4e2mr0ui3e8a215n4g", turn.Env["JUJU_SECRET_ID"])
	assert.Equal(t, "orders", turn.Env["JUJU_SECRET_LABEL"])
	assert.Equal(t, "2", turn.Env["JUJU_SECRET_REVISION"])
	assert.NotContains(t, turn.Env, tool.RelationID, "it is of no relation")
	s.done(turn, "exit code 3: no such table")
	assert.Contains(t, s.agent.handlers.status(), "secret-changed (9m4e2mr0ui3e8a215n4g) failed, attempt 1")
	s.again()
	s.done(s.next(), "")
	s.nothing()
	s.restart()
	knows(2, read)
	s.nothing()

	s.leader(&wire.LeadResponse{Leads: true, LeftMs: 60_000, Term: 1})
	due := time.Now().Add(2 * time.Second).Truncate(time.Second)
	knows(3, read, &wire.KnownSecret{Id: "root", Latest: 5, Rotates: due.Unix()})
	s.done(s.next(), "") // elected
	turn = s.next()
	assert.Equal(t, "secret-rotate", turn.Hook)
	assert.False(t, time.Now().Before(due), "not before its time")
	s.done(turn, "")
	s.nothing()
}

// TRUST.md U3: the reads of a handler wait as its writes do, and fail no handler.
func TestHandlersWaitForTheirReads(t *testing.T) {
	for _, words := range [][]string{{"secret-get", "secret:9m4e2mr0ui3e8a215n4g"}, {"secret-ids"}, {"status-get"}} {
		t.Run(words[0], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				s.controller.content, s.controller.status = map[string][]byte{"a": []byte("b")}, &wire.GetStatusResponse{}
				turn := s.next()
				s.controller.delays = []error{&conversation.Error{Wait: 3 * time.Second, Kind: conversation.NotYet, Message: "m", Cure: "c"}}
				began := time.Now()
				answer := s.types(turn, words...)
				assert.Zero(t, answer.ExitCode, string(answer.Stderr))
				assert.GreaterOrEqual(t, time.Since(began), 3*time.Second)
			})
		})
	}
}

// TRUST.md U1: what the controller puts off fails no handler and uses up no attempt: the agent waits as long as it
// requests, and reports that. A tool outside of handlers gets the error, with the wait. If the runner goes meanwhile,
// nothing has happened.
func TestHandlersWaitForTheirBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		put := func(waits ...time.Duration) {
			for _, wait := range waits {
				s.controller.delays = append(s.controller.delays, &conversation.Error{
					Wait: wait, Kind: conversation.NotYet, Message: "the budget is used up", Cure: "try again",
				})
			}
		}
		turn := s.next()
		put(time.Second)
		began := time.Now()
		assert.Zero(t, s.types(turn, "status-set", "active").ExitCode, "a tool of the handler waits too")
		assert.GreaterOrEqual(t, time.Since(began), time.Second)
		s.types(turn, "relation-set", "a=1")
		put(time.Minute, time.Hour)
		done := make(chan error, 1)
		go func() { done <- s.agent.handlers.Done(t.Context(), Done{Context: turn.Context, Handled: true}) }()
		synctest.Wait()
		assert.Contains(t, s.agent.handlers.status(), "waiting for the controller to accept more writes: the budget is used up")
		began = time.Now()
		require.NoError(t, <-done)
		assert.GreaterOrEqual(t, time.Since(began), time.Hour)
		assert.Len(t, s.controller.commits, 1)
		assert.NotContains(t, s.agent.handlers.status(), "waiting for the controller")

		second := s.next()
		assert.NotEqual(t, turn.Hook, second.Hook, "the first is handled")
		s.types(second, "relation-set", "a=2")
		put(time.Hour)
		ctx, gone := context.WithTimeout(t.Context(), time.Second)
		defer gone()
		require.ErrorIs(t, s.agent.handlers.Done(ctx, Done{Context: second.Context, Handled: true}), context.DeadlineExceeded)
		assert.Len(t, s.controller.commits, 1)
		again := s.next()
		assert.Equal(t, second.Hook, again.Hook)
		assert.Equal(t, "1", again.Env["ORCON_ATTEMPT"], "no attempt is used up")

		put(time.Hour)
		alone := s.agent.runTool(t.Context(), tool.Call{Name: "status-set", Args: []string{"active"}})
		assert.NotZero(t, alone.ExitCode)
		assert.Contains(t, string(alone.Stderr), "the budget is used up; try again")
	})
}

// A unit that begins to lead while a handler runs leads for that handler too: once is-leader has printed True, the handler
// reads and writes the application's databag (SAFETY.md P1).
func TestUnitLeadsFromTheAnswerOn(t *testing.T) {
	s := newStage(t)
	turn := s.next()
	set := []string{"relation-set", "-r", "7", "--app", "database=e"}
	require.Equal(t, "False\n", string(s.types(turn, "is-leader").Stdout))
	require.Contains(t, string(s.types(turn, set...).Stderr), "only the leader of web may")
	s.controller.leader = &wire.LeadResponse{Leads: true, LeftMs: 60_000, Term: 4}
	require.Equal(t, "True\n", string(s.types(turn, "is-leader").Stdout))
	read := s.types(turn, "relation-get", "-r", "7", "--app", "database", "web")
	require.Equal(t, "d\n", string(read.Stdout), "%s", read.Stderr)
	written := s.types(turn, set...)
	require.Zero(t, written.ExitCode, "%s", written.Stderr)
	s.done(turn, "")
	require.Len(t, s.controller.commits, 1)
	commit := s.controller.commits[0]
	assert.EqualValues(t, 4, commit.GetTerm())
	require.Len(t, commit.GetChanges(), 1)
	assert.True(t, commit.GetChanges()[0].GetApplication())
}

// A unit requests leadership once it is known: a request before that is refused, and the next one would come 20 s later. The
// unit leads before its first event (TRUST.md T2).
func TestUnitStandsOnceItIsKnown(t *testing.T) {
	s := newStage(t)
	s.controller.leader = &wire.LeadResponse{Leads: true, LeftMs: 60_000, Term: 4}
	unknown := heardAt(2)
	unknown.Unit.Known = false
	hear(s.agent, unknown)
	s.nothing()
	assert.Empty(t, s.controller.leads)
	hear(s.agent, heardAt(3))
	turn := s.next()
	assert.Len(t, s.controller.leads, 1)
	assert.Equal(t, "leader-elected", turn.Hook)
}

// A request for leadership without an answer is repeated, also if nothing else happens.
func TestUnitStandsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.controller.err = errors.New("connection refused")
		ctx, cancel := context.WithTimeout(t.Context(), 3*candidacy-time.Second)
		defer cancel()
		for turn, err := s.agent.handlers.Next(ctx); err == nil; turn, err = s.agent.handlers.Next(ctx) {
			s.done(turn, "")
		}
		assert.Len(t, s.controller.leads, 3)
	})
}
