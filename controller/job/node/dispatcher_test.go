package node_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/node/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/node"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// cluster notes what is the cluster's.
type cluster struct{ done []string }

func (c *cluster) Start(_ context.Context, a executor.Attempt) error {
	c.done = append(c.done, "start "+a.UID)
	return nil
}

func (c *cluster) Look(_ context.Context, n executor.Name) (executor.Sight, error) {
	c.done = append(c.done, "look "+n.UID)
	return executor.Sight{Claimant: "pod"}, nil
}

func (c *cluster) Remove(_ context.Context, n executor.Name) error {
	c.done = append(c.done, "remove "+n.UID)
	return nil
}

// to returns the first attempt of a run for a target.
func to(target domain.Selection) executor.Attempt {
	return executor.Attempt{Name: first(), Input: run.Input{Contract: run.Contract, Surroundings: run.Surroundings{Target: target}}}
}

// vault has Secret db.
type vault struct{}

// Check implements serve.SecretSource.
func (vault) Check(_ context.Context, namespace string, files []run.SecretFile) error {
	for _, f := range files {
		if f.Secret != "db" {
			return fmt.Errorf("Secret %s/%s is not there", namespace, f.Secret)
		}
	}
	return nil
}

// Read implements serve.SecretSource.
func (vault) Read(context.Context, string, []run.SecretFile) (map[string][]byte, error) {
	return nil, errors.New("nothing is read before the claim")
}

func newExecutor(w *world) (*node.Dispatcher, *cluster) {
	c := &cluster{}
	return &node.Dispatcher{Cluster: c, Nodes: w, Offers: w.Offers, Secrets: vault{}, Clock: w.now}, c
}

// JOBS-DESIGN.md 16: a token that cannot be minted is a reason to wait, and the kubelet finds what else is missing.
func TestToken(t *testing.T) {
	w := newWorld(t)
	e, c := newExecutor(w)
	a := to(domain.Selection{})
	a.Input.Secrets = []run.SecretFile{{Name: "s", Secret: "none", Key: "k"}}
	require.NoError(t, e.Start(t.Context(), a))
	a.Input.Secrets = append(a.Input.Secrets, run.SecretFile{Name: "token", JoinToken: "lab"})
	require.ErrorContains(t, e.Start(t.Context(), a), "is not there")
	assert.Len(t, c.done, 1)
}

// Attempts without a target are the cluster's.
func TestCluster(t *testing.T) {
	e, c := newExecutor(newWorld(t))
	require.NoError(t, e.Start(t.Context(), to(domain.Selection{})))
	sight, err := e.Look(t.Context(), first())
	require.NoError(t, err)
	assert.Equal(t, executor.Sight{Claimant: "pod"}, sight)
	require.NoError(t, e.Remove(t.Context(), first()))
	assert.Equal(t, []string{"start u", "look u", "remove u"}, c.done)
}

// Another attempt of a run is offered although the offer of the first one is still there; a store that fails offers nothing.
func TestNextAttempt(t *testing.T) {
	w := newWorld(t)
	w.adopted()
	e, _ := newExecutor(w)
	a := to(domain.Selection{Name: "lab"})
	for _, what := range []string{"list offers", "list nodes"} {
		w.failing = what
		require.ErrorIs(t, e.Start(t.Context(), a), errStore)
	}
	w.failing = ""
	assert.Empty(t, w.offers)
	require.NoError(t, e.Start(t.Context(), a))
	a.Number = 2
	require.NoError(t, e.Start(t.Context(), a))
	assert.Len(t, w.offers, 2)
	w.failing = "read an offer"
	_, err := e.Look(t.Context(), first())
	require.ErrorIs(t, err, errStore)
	require.ErrorIs(t, e.Remove(t.Context(), first()), errStore)
}

// An attempt with a target is offered to one node, once, and is withdrawn when it is removed.
func TestTarget(t *testing.T) {
	w := newWorld(t)
	agent := w.adopted()
	e, c := newExecutor(w)
	a := to(domain.Selection{Name: "lab"})
	for range 2 {
		require.NoError(t, e.Start(t.Context(), a))
	}
	o := w.offers[named(first())]
	assert.True(t, o.To("lab", agent.digest()))
	assert.Equal(t, run.Input{}, o.Input, "it is that of the Run")
	sight, err := e.Look(t.Context(), first())
	require.NoError(t, err)
	assert.Equal(t, executor.Sight{Pod: run.Pod{Made: true, Progress: "it is offered to RunNode lab", Where: "lab"}, Claimant: "lab"}, sight)

	o.Accepted, o.Obstacle, o.Stopped = true, "it pulls", true
	require.NoError(t, w.Offers.Change(t.Context(), o))
	sight, err = e.Look(t.Context(), first())
	require.NoError(t, err)
	const starts = "its container starts on RunNode lab: if that lasts, the log of its agent tells why"
	assert.Equal(t, executor.Sight{Pod: run.Pod{Made: true, Progress: starts, Where: "lab", Obstacle: "it pulls", Stopped: true}, Claimant: "lab"}, sight)
	for range 2 {
		require.NoError(t, e.Remove(t.Context(), first()))
	}
	assert.True(t, w.offers[named(first())].Withdrawn)
	assert.Empty(t, c.done)
}

// An attempt that its node does not accept in time, or whose node does not call, may be given to another one.
func TestSilence(t *testing.T) {
	w := newWorld(t)
	w.adopted()
	e, _ := newExecutor(w)
	require.NoError(t, e.Start(t.Context(), to(domain.Selection{Name: "lab"})))
	silent := func() bool {
		sight, err := e.Look(t.Context(), first())
		require.NoError(t, err)
		return sight.Silent
	}
	assert.False(t, silent())
	w.pass(domain.OfferLife)
	assert.True(t, silent(), "it was not accepted")
	o := w.offers[named(first())]
	o.Accepted = true
	require.NoError(t, w.Offers.Change(t.Context(), o))
	assert.False(t, silent())
	w.pass(domain.Lost)
	assert.True(t, silent(), "its node does not call")
}

// unread are nodes that cannot be read.
type unread struct{ node.Nodes }

// Get implements node.Nodes.
func (unread) Get(context.Context, string) (domain.Node, error) {
	return domain.Node{}, errors.New("no API server")
}

// A node that cannot be read is not taken for one that is silent: its attempt would be given to another.
func TestUnread(t *testing.T) {
	w := newWorld(t)
	w.offer(w.adopted())
	e, _ := newExecutor(w)
	e.Nodes = unread{w}
	_, err := e.Look(t.Context(), first())
	require.ErrorContains(t, err, "no API server")
}

// What cannot be carried out tells why.
func TestRefused(t *testing.T) {
	w := newWorld(t)
	e, _ := newExecutor(w)
	a := to(domain.Selection{Name: "lab"})
	require.ErrorContains(t, e.Start(t.Context(), a), "its agent has not joined")
	w.adopted()
	a.Input.Secrets = []run.SecretFile{{Name: "s"}}
	require.ErrorContains(t, e.Start(t.Context(), a), "Secret ns/ is not there")
	assert.Empty(t, w.offers, "it waits before the claim")
	a.Input.Secrets[0].Secret = "db"
	for _, uid := range []string{"a", "b"} {
		one := a
		one.UID = uid
		require.NoError(t, e.Start(t.Context(), one))
	}
	require.ErrorContains(t, e.Start(t.Context(), a), "lab has no room: its spec.capacity is 2, and it carries out 2")
}

// Nodes show their standing, and offers go that their nodes cannot confirm any more.
func TestWatch(t *testing.T) {
	w := newWorld(t)
	c := w.adopted()
	w.offer(c)
	require.NoError(t, node.Survey{Nodes: w, Offers: w.Offers, Clock: w.now}.Look(t.Context()))
	assert.Len(t, w.offers, 1)
	o := w.offers[named(first())]
	o.Withdrawn = true
	require.NoError(t, w.Offers.Change(t.Context(), o))
	require.NoError(t, node.Survey{Nodes: w, Offers: w.Offers, Clock: w.now}.Look(t.Context()))
	assert.Len(t, w.offers, 1, "its node confirms that")
	_, err := c.sync("", report(wire.Phase_PHASE_STOPPED, ""))
	require.NoError(t, err)
	assert.True(t, w.offers[named(first())].Stopped, "it stops its process first")
	require.NoError(t, node.Survey{Nodes: w, Offers: w.Offers, Clock: w.now}.Look(t.Context()))
	assert.Len(t, w.offers, 1)
	w.change(func(n *domain.Node) { n.Order = domain.Revoke })
	require.NoError(t, node.Survey{Nodes: w, Offers: w.Offers, Clock: w.now}.Look(t.Context()))
	assert.Empty(t, w.offers)
	assert.WithinDuration(t, time.Now(), w.nodes["lab"].Seen, time.Minute)
}

// A node that is gone is silent for each attempt that it had.
func TestGone(t *testing.T) {
	w := newWorld(t)
	agent := w.adopted()
	w.offer(agent)
	o := w.offers[named(first())]
	o.Accepted, o.Since = true, w.now().Add(-domain.Lost)
	require.NoError(t, w.Offers.Change(t.Context(), o))
	delete(w.nodes, "lab")
	e, _ := newExecutor(w)
	sight, err := e.Look(t.Context(), first())
	require.NoError(t, err)
	assert.True(t, sight.Silent)
	_, err = agent.sync("")
	w.denied(err, "the key is not that of the node")
	require.NoError(t, e.Remove(t.Context(), first()))
	require.NoError(t, node.Survey{Nodes: w, Offers: w.Offers, Clock: w.now}.Look(t.Context()))
	assert.Empty(t, w.offers)
}
