package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"connectrpc.com/connect"

	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/serve/limit"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/identity"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

// The limits of a conversation.
const (
	// catchUp is how long a replica whose caches are behind what an agent has
	// seen, or do not show its pod yet, waits for them (SAFETY.md V4).
	catchUp = time.Second
	// afterPod is how long a stream outlives its pod (SAFETY.md S4).
	afterPod = 2 * time.Second
	// helloWithin is how long an agent may take to say who it is.
	helloWithin = 10 * time.Second
	// maxCommit is the size of the largest transaction that is read: two bags as large as a bag may be
	// (RELATIONS.md P6). maxRequest is that of all other messages.
	maxCommit, maxRequest = 1<<20 + 64<<10, 64 << 10
)

// Identities knows the pods that call.
type Identities interface {
	// Claim returns the pod that a token names by its signature, without a review; the zero Identity if that is not
	// known. The error wraps identity.ErrToken if the token names none.
	Claim(ctx context.Context, token string) (identity.Identity, error)
	// Review returns the pod that a token names; the error wraps identity.ErrToken if it names none. A token that
	// renews one of a stream goes first.
	Review(ctx context.Context, token string, renews bool) (identity.Identity, error)
	// Membership returns what is known in memory of the pod and its application.
	Membership(ctx context.Context, id identity.Identity) identity.Membership
}

// World reads what agents may see, from memory.
type World interface {
	// View returns what an application may see.
	View(ctx context.Context, namespace, application string) (relation.View, error)
	// Secrets returns the secrets of a namespace that an application, as the namespace names it, owns or
	// reads, in order of ID.
	Secrets(ctx context.Context, namespace, application string) ([]secret.Secret, error)
	// Revisions returns the highest revision of each kind that was received or shown: no earlier view is
	// newer.
	Revisions() map[string]uint64
	// CaughtUp returns the revision that each kind is known to be at: what is
	// viewed later is at least as new.
	CaughtUp() map[string]uint64
}

// Store stores transactions and leases.
type Store interface {
	// Commit stores a transaction and returns the revision of databags that shows it; 0 if it changes none.
	// The error wraps transaction.ErrDeposed, transaction.ErrInvalid, transaction.ErrBusy or a refusal.
	Commit(ctx context.Context, commit transaction.Commit, secrets []secret.Draft) (revision uint64, err error)
	// Lead claims, renews or resigns the leadership of a pod, and returns the leader.
	Lead(ctx context.Context, namespace, application string, unit int, podUID string, resign bool) (leadership.Leader, error)
	// Leave records the departures, or the suspension, that a unit, as relation.Key names it, has handled.
	Leave(ctx context.Context, namespace, relation, uid string, said domain.Leave) error
	// AnswerEnd records what a unit, as its own namespace names it, answers for the end of the relation with that
	// identity, in a side of that name.
	AnswerEnd(ctx context.Context, namespace, side, identity string, said domain.Leave) error
}

// SecretStore reads secrets for units.
type SecretStore interface {
	// Secret returns the revision of a secret that a unit reads. It has the ID or the unit's label, in the first
	// of the namespaces in which the unit is known.
	Secret(ctx context.Context, asks []secret.Visitor, id string, query secret.Query) (secret.Reading, error)
	// Secrets returns the secrets that a unit may manage, in order of ID.
	Secrets(ctx context.Context, namespace, application string, unit int, podUID string) ([]secret.Secret, error)
}

// Server serves the relations API.
type Server struct {
	Identities Identities
	World      World
	Store      Store
	Secrets    SecretStore
	Statuses   Statuses
	// Live reads the revisions of the store itself; without it, each agent with later ones is sent away.
	Live StoreRevisions
	// Raise counts an id that an agent has received, so that no later relation gets it; pay takes the cost of a write.
	Raise func(ctx context.Context, of identity.Identity, received int, pay func(context.Context) error) error
	// Budgets bound what units write; nil for no bound.
	Budgets *limit.Budgets
	// Now is the clock of leases.
	Now func() time.Time

	// Streams bounds the streams of agents.
	Streams Streams

	hub  hub
	read lastRead
}

// ApplicationChanged wakes the streams of an application's units.
func (s *Server) ApplicationChanged(namespace, name string) {
	s.hub.changed(applicationTopic(namespace, name))
}

// PodChanged wakes the streams of a pod.
func (s *Server) PodChanged(namespace, name string) { s.hub.changed(podTopic(namespace, name)) }

// Get returns the present snapshot of the pod that the bearer token names.
func (s *Server) Get(ctx context.Context, _ *connect.Request[v1alpha1.GetRequest]) (*connect.Response[v1alpha1.GetResponse], error) {
	c, err := s.caller(ctx)
	if err != nil {
		return nil, err
	}
	defer c.leave()
	t, err := c.telling(ctx)
	if err != nil {
		return nil, err
	}
	if t.stale {
		return nil, connect.NewError(connect.CodeUnavailable, errStale)
	}
	snapshot, err := whole(c.snapshot(t), t.bags)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&v1alpha1.GetResponse{Snapshot: snapshot}), nil
}

// caller returns the pod that calls. The caller of caller calls leave.
func (s *Server) caller(ctx context.Context) (*conversation, error) {
	c := &conversation{server: s, bell: newBell()}
	err := c.join(ctx, limit.Proven(ctx))
	if err == nil && c.Ignored != "" {
		err = connect.NewError(connect.CodeFailedPrecondition, errors.New(c.Ignored))
	}
	if err != nil {
		c.leave()
		return nil, err
	}
	return c, nil
}

// Converse holds one agent's stream until either side or the pod ends it.
func (s *Server) Converse(ctx context.Context, stream *connect.BidiStream[v1alpha1.ConverseRequest, v1alpha1.ConverseResponse]) error {
	stream.ResponseHeader().Set("Connection", "close") // with this stream, so that the next may reach another replica
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	heard := make(chan *v1alpha1.ConverseRequest)
	go listen(ctx, stream, heard)
	hello, err := greet(ctx, heard)
	if err != nil {
		return err
	}
	id, done, err := prover{s.Identities, s.Budgets}.prove(ctx, hello.GetToken(), stream.Spec().Procedure)
	if err != nil {
		return err
	}
	defer done()
	place, free, err := s.Streams.enter(id.Namespace)
	if err != nil {
		return err
	}
	defer free()
	c := conversation{server: s, bell: newBell(), pieces: pieces{accepted: hello.GetPieces()}}
	defer c.leave()
	if err := c.join(ctx, id); err != nil {
		return err
	}
	if err := c.waitFor(ctx, hello.GetRevisions()); err != nil {
		return err
	}
	if received := int(hello.GetLastRelation()); received > 0 {
		pay := func(ctx context.Context) error { return s.Budgets.Signal(ctx, s.Identities, id) }
		if err := s.Raise(ctx, id, received, pay); err != nil {
			return refuse(err)
		}
	}
	streams.Inc()
	defer streams.Dec()
	writes, _ := ctx.Value(writesKey{}).(*http.ResponseController)
	return c.talk(ctx, punctual{stream, writes}, heard, place.dismissed)
}

// greet waits for hello.
func greet(ctx context.Context, heard <-chan *v1alpha1.ConverseRequest) (*v1alpha1.Hello, error) {
	late := time.NewTimer(helloWithin)
	defer late.Stop()
	select {
	case first := <-heard:
		if hello := first.GetHello(); hello != nil {
			return hello, nil
		}
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("the first message must be hello"))
	case <-late.C:
		return nil, connect.NewError(connect.CodeDeadlineExceeded, fmt.Errorf("no hello within %s", helloWithin))
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// listen passes on what the agent says, and closes heard when it has gone.
func listen(ctx context.Context, stream *connect.BidiStream[v1alpha1.ConverseRequest, v1alpha1.ConverseResponse],
	heard chan<- *v1alpha1.ConverseRequest) {
	defer close(heard)
	for {
		said, err := stream.Receive()
		if err != nil {
			return
		}
		select {
		case heard <- said:
		case <-ctx.Done():
			return
		}
	}
}
