package node

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/node/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor/offer"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
)

// look is the time between two looks for other attempts of a node while its call waits.
const look = 250 * time.Millisecond

// Sync implements the node API.
func (s *Server) Sync(ctx context.Context, r *connect.Request[wire.SyncRequest]) (*connect.Response[wire.SyncResponse], error) {
	p, err := s.peer(ctx)
	if err != nil {
		return nil, refusal(err)
	}
	n, err := s.permitted(ctx, p)
	if err == nil {
		err = s.called(ctx, n, p.key, r.Msg)
	}
	if err == nil {
		err = s.note(ctx, p, r.Msg.GetReports())
	}
	if err != nil {
		return nil, refusal(err)
	}
	answer, err := s.await(ctx, p, r.Msg.GetRevision())
	if err != nil {
		return nil, refusal(err)
	}
	return connect.NewResponse(answer), nil
}

// permitted returns a node that may call.
func (s *Server) permitted(ctx context.Context, p peer) (node.Node, error) {
	n, err := s.Nodes.Get(ctx, p.name)
	if err != nil {
		return n, err
	}
	return n, n.Permit(p.key, p.expires, s.Clock())
}

// called notes that the machine of a node has called, and what its agent found of the runner contract.
func (s *Server) called(ctx context.Context, n node.Node, key string, r *wire.SyncRequest) error {
	if key != n.Machine() {
		return nil
	}
	var found *node.Proof
	if p := r.GetProof(); p != nil {
		found = node.NewProof(p.GetSubject(), p.GetReport())
	}
	now := s.Clock()
	next := node.Call{Caller: key, Seen: n.Seen, Contract: r.GetContract(), Proof: found, Untested: node.Untested(r.GetUntested())}
	if now.Sub(n.Seen) < node.Heartbeat && reflect.DeepEqual(n.Call, next) {
		return nil
	}
	next.Seen = now
	return s.Nodes.Show(ctx, n.Name, Shown{Call: next})
}

// note stores what a node reports.
func (s *Server) note(ctx context.Context, p peer, reports []*wire.Report) error {
	for _, r := range reports {
		o, there, err := s.Offers.Stored(ctx, executor.Name{UID: r.GetUid(), Number: int(r.GetNumber())})
		if err == nil && there && o.To(p.name, p.key) {
			err = s.receive(ctx, o, r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// maxObstacle is the size of the reason for which a container does not start, in bytes.
const maxObstacle = 2048

// receive stores one report.
func (s *Server) receive(ctx context.Context, o OfferedAttempt, r *wire.Report) error {
	if r.GetPhase() == wire.Phase_PHASE_GONE && o.Withdrawn {
		return s.Offers.Delete(ctx, o.Name)
	}
	before := [4]any{o.Accepted, o.Obstacle, o.Stopped, o.Over}
	o.Accepted, o.Obstacle = true, r.GetObstacle()[:min(len(r.GetObstacle()), maxObstacle)]
	o.Stopped = r.GetPhase() == wire.Phase_PHASE_STOPPED
	o.Over = r.GetPhase() == wire.Phase_PHASE_OVER || r.GetPhase() == wire.Phase_PHASE_GONE
	if before == [4]any{o.Accepted, o.Obstacle, o.Stopped, o.Over} {
		return nil
	}
	return s.Offers.Change(ctx, o)
}

// await returns what a node is to have, as soon as that differs from a revision, or after a while. A node that is revoked
// meanwhile is refused.
func (s *Server) await(ctx context.Context, p peer, revision string) (*wire.SyncResponse, error) {
	ticks := time.NewTicker(look)
	defer ticks.Stop()
	end := time.NewTimer(node.Heartbeat)
	defer end.Stop()
	for {
		answer, err := s.answer(ctx, p)
		if err != nil || answer.GetRevision() != revision {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-end.C:
			return answer, nil
		case <-ticks.C:
		}
	}
}

// answer returns what a node is to have now.
func (s *Server) answer(ctx context.Context, p peer) (*wire.SyncResponse, error) {
	n, err := s.permitted(ctx, p)
	if err != nil {
		return nil, err
	}
	bundle, _, err := s.Authority.Bundle(ctx)
	if err != nil {
		return nil, err
	}
	offers, err := s.Offers.Of(ctx, p.name)
	if err != nil {
		return nil, err
	}
	standing := n.StandingOf(p.key, s.Clock())
	answer := &wire.SyncResponse{Standing: standing.Phase + ": " + standing.Message, Authorities: bundle, Recipient: s.Recipient()}
	for _, o := range offers {
		if !o.To(p.name, p.key) || !o.Accepted && standing.Phase != node.Ready {
			continue
		}
		a, err := s.attempt(ctx, o)
		if err != nil {
			return nil, err
		}
		answer.Attempts = append(answer.Attempts, a)
	}
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(answer)
	answer.Revision = node.Digest(text)
	return answer, err
}

// attempt returns an offer for its node. Only one that the node does not have yet has a program.
func (s *Server) attempt(ctx context.Context, o OfferedAttempt) (*wire.Attempt, error) {
	a := offer.Head(o.Attempt)
	switch {
	case o.Withdrawn:
		a.Order = wire.Order_ORDER_REMOVE
	case !o.Accepted:
		input, err := s.Runs.Input(ctx, o.Name)
		if errors.Is(err, ErrNone) {
			return a, nil // its Run is gone: it is withdrawn soon
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read the input of Run %s/%s: %w", o.Namespace, o.Run, err)
		}
		o.Input = input
		a.Program = offer.Program(o.Attempt)
	}
	return a, nil
}
