package agent

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// serves has the agent answer the handlers' container, and returns the runner in it.
func (s *stage) serves() Runner {
	socket := filepath.Join(s.t.TempDir(), "agent.sock")
	go s.agent.ServeTools(s.t.Context(), socket, injection.HandlerContainer)
	return Runner{Socket: socket}
}

// Handlers of a pod that ends are interrupted shortly before its deadline, over the socket of their container; what was
// interrupted is sent again (TRUST.md T2).
func TestRunnerEndsBeforeItsPod(t *testing.T) {
	s := newStage(t)
	runner := s.serves()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	deadline := time.Now().Add(6 * time.Second).Truncate(time.Second)
	var hooks []string
	var interrupted time.Time
	runner.Run(ctx, func(until context.Context, turn Turn) Done {
		hooks = append(hooks, turn.Hook)
		if len(hooks) == 4 { // the last one before the end
			snapshot := heardAt(2)
			snapshot.Unit.Deadline, snapshot.Unit.Leaving = deadline.Unix(), "replaced"
			hear(s.agent, snapshot)
			end()
		}
		if turn.Hook == "store-relation-broken" {
			<-until.Done()
			interrupted = time.Now()
		}
		return Done{Context: turn.Context, Handled: true}
	})
	assert.Equal(t, []string{"store-relation-departed", "store-relation-broken"}, hooks[4:])
	assert.False(t, interrupted.Before(deadline.Add(-margin)), "not before its time")
	assert.Less(t, interrupted.Sub(deadline), 5*time.Second, "its pod's time, not that of others")
	again, err := s.agent.handlers.Next(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "store-relation-broken", again.Hook)
}

// A container that ends in the middle of the end of a relation, by a signal that its handler does not outlive or without
// one, has not handled that: it is sent to the next one, and answered for then (TRUST.md T2).
func TestEndOfAHandlersContainer(t *testing.T) {
	s := newStage(t)
	s.controller.leader = &wire.LeadResponse{Leads: true, LeftMs: 60_000, Term: 1}
	runner := s.serves()
	for range 5 {
		s.done(s.next(), "")
	}
	s.ends(2, 2)
	s.done(s.next(), "")
	var hooks []string
	broken := func(ending bool) {
		ctx, end := context.WithCancel(t.Context())
		defer end()
		if ending {
			heard := heardAt(3)
			heard.Unit.Deadline, heard.Relations[0].Ended, heard.Relations[0].EndOwed = time.Now().Unix(), true, []int64{2}
			hear(s.agent, heard)
		}
		runner.Run(ctx, func(until context.Context, turn Turn) Done {
			hooks = append(hooks, turn.Hook+" "+turn.Env["ORCON_FINAL"])
			end()
			if ending {
				<-until.Done() // the handler is interrupted
			}
			return Done{Context: turn.Context, Handled: true}
		})
	}
	killed, ok := runner.Next(t.Context()) // its runner is killed
	require.True(t, ok)
	assert.Equal(t, "store-relation-broken", killed.Hook)
	broken(true)
	assert.Empty(t, s.controller.left)
	s.restart() // the agent too
	s.ends(4, 2)
	runner = s.serves()
	broken(false)
	assert.Equal(t, []string{"store-relation-broken true", "store-relation-broken true"}, hooks)
	s.nothing()
	assert.Equal(t, []string{"r handled"}, s.controller.left)
}
