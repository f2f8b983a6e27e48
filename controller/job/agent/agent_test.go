package agent

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/node/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/conformance"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// unproved is an agent that has found nothing of the contract.
func unproved() conformance.Proof { return conformance.Proof{} }

// runs starts an agent, which ends with the test.
func (c *controller) runs(m *machine) *Agent {
	return c.run(&Agent{Connection: c.joins(), Executor: m, Proof: unproved, Clock: time.Now, Longest: longest})
}

// run runs an agent to the end of the test.
func (c *controller) run(a *Agent) *Agent {
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	c.t.Cleanup(func() {
		end()
		require.NoError(c.t, <-ended)
	})
	return a
}

// named names the first attempt of Run r.
func named() executor.Name { return executor.Name{Namespace: "ns", Run: "r", UID: "u", Number: 1} }

// offered returns the first attempt of Run r.
func offered(p *wire.Program, o wire.Order) *wire.Attempt {
	return &wire.Attempt{Uid: "u", Number: 1, Namespace: "ns", Run: "r", Workspace: "web", Fence: 3, Program: p, Order: o}
}

// phase returns what is true of a call that reports one attempt so.
func phase(p wire.Phase, obstacle string) func(*wire.SyncRequest) bool {
	return func(r *wire.SyncRequest) bool {
		return len(r.GetReports()) == 1 && r.GetReports()[0].GetPhase() == p && r.GetReports()[0].GetObstacle() == obstacle
	}
}

// JOBS.md J13: what is offered is carried out and reported as soon as it changes, also while a call waits.
func TestCarriesOut(t *testing.T) {
	c, m := newController(t), &machine{sights: map[executor.Name]executor.Sight{}}
	c.runs(m)
	assert.Equal(t, run.Contract, c.next(func(*wire.SyncRequest) bool { return true }).GetContract())
	c.tell(&wire.SyncResponse{Revision: "1", Attempts: []*wire.Attempt{offered(&wire.Program{
		Image: "image", Entrypoint: []string{"program"}, Args: []string{"a"}, Env: map[string]string{"A": "b"}, Action: "deploy",
		Type: "OpenTofu", Exclude: []string{"x"}, Rescue: []string{"y"}, LostSeconds: 60, GraceSeconds: 0.5,
	}, wire.Order_ORDER_UNSPECIFIED)}})
	c.next(phase(wire.Phase_PHASE_UNSPECIFIED, ""))
	require.Len(t, m.started, 1)
	got := m.started[0]
	assert.Equal(t, named(), got.Name)
	assert.Equal(t, "web", got.Workspace)
	assert.Equal(t, int64(3), got.Fence)
	assert.Equal(t, time.Minute, got.Timing.Lost)
	assert.Equal(t, time.Second/2, got.Timing.Grace)
	assert.Equal(t, run.Input{
		Artifact: run.Artifact{Image: "image"}, Entrypoint: []string{"program"}, Args: []string{"a"}, Env: map[string]string{"A": "b"}, Action: "deploy",
		Type: "OpenTofu", Files: run.Files{Exclude: []string{"x"}, Rescue: []string{"y"}},
	}, got.Input)

	c.tell(&wire.SyncResponse{Revision: "2", Attempts: []*wire.Attempt{offered(nil, wire.Order_ORDER_UNSPECIFIED)}})
	m.show(named(), executor.Sight{Pod: run.Pod{Made: true, Obstacle: "it pulls"}})
	c.next(phase(wire.Phase_PHASE_UNSPECIFIED, "it pulls"))
	m.show(named(), executor.Sight{Pod: run.Pod{Made: true, Stopped: true}})
	c.next(phase(wire.Phase_PHASE_STOPPED, ""))
	m.show(named(), executor.Sight{Pod: run.Pod{Made: true}, Over: true})
	c.next(phase(wire.Phase_PHASE_OVER, ""))
	c.tell(&wire.SyncResponse{Revision: "3", Attempts: []*wire.Attempt{offered(nil, wire.Order_ORDER_REMOVE)}})
	c.next(phase(wire.Phase_PHASE_GONE, ""))
	c.tell(&wire.SyncResponse{Revision: "4"})
	assert.Empty(t, c.next(func(r *wire.SyncRequest) bool { return len(r.GetReports()) == 0 }).GetReports())
	assert.Len(t, m.started, 1)
}

// An attempt that the agent had accepted, and does not have any more, is not started again.
func TestForgotten(t *testing.T) {
	c, m := newController(t), &machine{sights: map[executor.Name]executor.Sight{}}
	c.runs(m)
	c.tell(&wire.SyncResponse{Revision: "1", Attempts: []*wire.Attempt{offered(nil, wire.Order_ORDER_UNSPECIFIED)}})
	c.next(phase(wire.Phase_PHASE_GONE, ""))
	assert.Empty(t, m.started)
}

// An executor that fails is called again; the controller gets to know why in the meantime.
func TestFails(t *testing.T) {
	c, m := newController(t), &machine{sights: map[executor.Name]executor.Sight{}, failure: errPassing}
	c.runs(m)
	c.tell(&wire.SyncResponse{Revision: "1", Attempts: []*wire.Attempt{offered(&wire.Program{}, wire.Order_ORDER_UNSPECIFIED)}})
	for range 3 {
		c.next(func(r *wire.SyncRequest) bool { return len(r.GetReports()) == 0 })
	}
	m.mutex.Lock()
	m.failure = nil
	m.mutex.Unlock()
	c.next(phase(wire.Phase_PHASE_UNSPECIFIED, ""))
	c.tell(&wire.SyncResponse{Revision: "2", Attempts: []*wire.Attempt{offered(nil, wire.Order_ORDER_UNSPECIFIED)}})
	m.mutex.Lock()
	m.failure = errPassing
	m.mutex.Unlock()
	c.next(phase(wire.Phase_PHASE_UNSPECIFIED, "not now"))
}

// Certificates are renewed when a third of their time is left, and by their key when they have ended. One that cannot be
// renewed is used as long as it is good.
func TestRenews(t *testing.T) {
	c, m := newController(t), &machine{sights: map[executor.Name]executor.Sight{}}
	c.life = 7 * time.Hour
	a := c.runs(m)
	c.mutex.Lock()
	first := a.Connection.Identity().Certificate
	c.life = node.CertificateLife
	c.mutex.Unlock()
	c.tell(&wire.SyncResponse{Revision: "1"})
	c.next(func(*wire.SyncRequest) bool { return a.Connection.Identity().Certificate != first })
	stored, err := Load(a.Connection.Identity().file)
	require.NoError(t, err)
	assert.Equal(t, a.Connection.Identity().Certificate, stored.Certificate)
	end, err := ends(stored.Certificate)
	require.NoError(t, err)
	assert.WithinDuration(t, time.Now().Add(node.CertificateLife), end, time.Minute)

	lone := &Agent{Connection: a.Connection, Clock: func() time.Time { return end.Add(-time.Hour) }}
	c.mutex.Lock()
	c.refuse = connect.NewError(connect.CodePermissionDenied, errPassing)
	c.mutex.Unlock()
	require.NoError(t, lone.renew(t.Context()), "it is still good")
	lone.Clock = func() time.Time { return end }
	require.ErrorContains(t, lone.renew(t.Context()), "cannot renew the certificate of RunNode lab, which ends at ")
}

// JOBS.md J15: what the agent finds of the contract is reported as soon as it is known, also while a call waits.
func TestProves(t *testing.T) {
	c, m := newController(t), &machine{sights: map[executor.Name]executor.Sight{}}
	var proof atomic.Pointer[conformance.Proof]
	proof.Store(&conformance.Proof{})
	c.run(&Agent{
		Connection: c.joins(), Executor: m, Clock: time.Now, Longest: longest, Proof: func() conformance.Proof { return *proof.Load() },
	})
	c.tell(&wire.SyncResponse{Revision: "1"})
	c.next(func(r *wire.SyncRequest) bool { return r.GetProof() == nil })
	proof.Store(&conformance.Proof{Subject: "engine", Report: conformance.Golden()})
	got := c.next(func(r *wire.SyncRequest) bool { return r.GetProof().GetSubject() == "engine" })
	report, err := conformance.Parse(got.GetProof().GetReport())
	require.NoError(t, err)
	assert.Equal(t, conformance.Golden(), report)
	proof.Store(&conformance.Proof{})
	c.next(func(r *wire.SyncRequest) bool { return r.GetProof() == nil })
}

// A controller that fails is not called again at once.
func TestPauses(t *testing.T) {
	c := newController(t)
	joined := c.joins()
	c.mutex.Lock()
	c.refuse, c.joined = connect.NewError(connect.CodeInternal, errPassing), nil
	c.mutex.Unlock()
	soon, end := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer end()
	a := &Agent{
		Connection: joined, Executor: &machine{}, Clock: time.Now, Longest: time.Hour, Proof: func() conformance.Proof { return conformance.Proof{} },
	}
	require.NoError(t, a.Run(soon))
	assert.LessOrEqual(t, len(c.asked), 1)

	i, err := New(filepath.Join(t.TempDir(), "identity.json"), c.invitation())
	require.NoError(t, err)
	again, end := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer end()
	require.ErrorContains(t, Join(again, &Connection{Clock: time.Now}, i, c.invitation(), time.Hour), "cannot join as RunNode lab: ")
	c.mutex.Lock()
	defer c.mutex.Unlock()
	assert.LessOrEqual(t, len(c.joined), 1)
}
