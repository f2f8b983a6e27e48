package node

import (
	"context"
	"errors"
	"sync"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// Dispatcher has attempts carried out by nodes where their target names one, and by the cluster otherwise.
type Dispatcher struct {
	Cluster executor.Executor
	Nodes   Nodes
	Offers  Offers
	Secrets serve.SecretSource
	Clock   func() time.Time

	// choosing has one attempt at a time choose a node, so that none gets more than it has room for.
	choosing sync.Mutex
}

var _ executor.Executor = (*Dispatcher)(nil)

// Start implements executor.Executor.
func (e *Dispatcher) Start(ctx context.Context, a executor.Attempt) error {
	t := a.Input.Target
	elsewhere := t.Name != "" || len(t.Labels) > 0
	secrets := a.Input.Secrets
	if !elsewhere {
		secrets = run.Minted(secrets) // the kubelet has the others
	}
	if err := e.Secrets.Check(ctx, a.Namespace, secrets); err != nil { // a reason to wait before the claim
		return err
	}
	if !elsewhere {
		return e.Cluster.Start(ctx, a)
	}
	e.choosing.Lock()
	defer e.choosing.Unlock()
	offers, err := e.Offers.List(ctx)
	if err != nil {
		return err
	}
	used := map[string]int{}
	for _, o := range offers {
		used[o.Node]++
		if o.UID == a.UID && o.Number == a.Number {
			return nil
		}
	}
	nodes, err := e.Nodes.List(ctx)
	if err != nil {
		return err
	}
	now := e.Clock()
	name, err := node.Choose(node.Demand{Target: t, Namespace: a.Namespace, Contract: a.Input.Contract}, nodes, used, now)
	if err != nil {
		return err
	}
	o := OfferedAttempt{Attempt: a, Offer: node.Offer{Node: name, Since: now}}
	for _, n := range nodes {
		if n.Name == name {
			o.Key = n.Machine()
		}
	}
	o.Input = run.Input{} // it is that of the Run
	return e.Offers.Make(ctx, o)
}

// Look implements executor.Executor.
func (e *Dispatcher) Look(ctx context.Context, n executor.Name) (executor.Sight, error) {
	o, there, err := e.Offers.Get(ctx, n)
	switch {
	case err != nil:
		return executor.Sight{}, err
	case !there:
		return e.Cluster.Look(ctx, n)
	}
	at, err := e.Nodes.Get(ctx, o.Node)
	if err != nil && !errors.Is(err, ErrNone) { // one that is gone calls no more
		return executor.Sight{}, err
	}
	sight := executor.Sight{
		Pod:      run.Pod{Made: true, Progress: progress(o), Obstacle: o.Obstacle, Stopped: o.Stopped, Where: o.Node},
		Claimant: o.Node, Over: o.Over, Silent: o.Silent(at.Seen, e.Clock()),
	}
	if sight.Silent {
		sight.Obstacle = "RunNode " + o.Node + " does not answer: it is offered anew"
	}
	return sight, nil
}

// progress tells how far an offered attempt has started.
func progress(o OfferedAttempt) string {
	if !o.Accepted {
		return "it is offered to RunNode " + o.Node
	}
	return "its container starts on RunNode " + o.Node + ": if that lasts, the log of its agent tells why"
}

// Remove implements executor.Executor. The node confirms it when it calls.
func (e *Dispatcher) Remove(ctx context.Context, n executor.Name) error {
	o, there, err := e.Offers.Stored(ctx, n)
	switch {
	case err != nil:
		return err
	case !there:
		return e.Cluster.Remove(ctx, n)
	case o.Withdrawn:
		return nil
	}
	o.Withdrawn = true
	return e.Offers.Change(ctx, o)
}
