package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube"
	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1/relationsv1alpha1connect"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// The limits of a conversation.
const (
	// catchUp is how long a replica whose caches are behind what an agent has
	// seen, or do not show its pod yet, waits for them (SAFETY.md V4).
	catchUp = time.Second
	// afterPod is how long a stream outlives its pod (SAFETY.md S4).
	afterPod = 2 * time.Second
	// maxRequest is the size of the largest thing an agent may say.
	maxRequest = 64 << 10
)

// Reviewer says whom a token names.
type Reviewer interface {
	// Review returns the pod; the error wraps kube.ErrToken if it names none.
	Review(ctx context.Context, token string) (kube.Identity, error)
}

// World is what the API reads, all of it from memory.
type World interface {
	// Pod returns the application of a living pod of that UID and account.
	Pod(ctx context.Context, namespace, name, uid, account string) (application string, ok bool)
	// View returns what an application may see.
	View(ctx context.Context, namespace, application string) (relation.View, error)
	// Revisions returns the highest revision of each kind in memory.
	Revisions() map[string]uint64
}

// Server serves the relations API.
type Server struct {
	Reviewer Reviewer
	World    World

	hub hub
}

// ApplicationChanged wakes the streams of an application's units.
func (s *Server) ApplicationChanged(namespace, name string) {
	s.hub.changed(applicationTopic(namespace, name))
}

// PodChanged wakes the streams of a pod.
func (s *Server) PodChanged(namespace, name string) { s.hub.changed(podTopic(namespace, name)) }

// Handler returns the HTTP handler of the API.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(relationsv1alpha1connect.NewRelationsServiceHandler(s, connect.WithReadMaxBytes(maxRequest)))
	return mux
}

// Get returns the present snapshot of the pod that the bearer token names.
func (s *Server) Get(ctx context.Context, req *connect.Request[v1alpha1.GetRequest]) (*connect.Response[v1alpha1.GetResponse], error) {
	token, ok := strings.CutPrefix(req.Header().Get("Authorization"), "Bearer ")
	if !ok {
		return nil, connect.NewError(connect.CodeUnauthenticated, errors.New("the Authorization header has no bearer token"))
	}
	c := conversation{server: s, bell: newBell()}
	if err := c.identify(ctx, token); err != nil {
		return nil, err
	}
	defer c.leave()
	snapshot, err := c.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&v1alpha1.GetResponse{Snapshot: snapshot}), nil
}

// Converse holds one agent's stream until either side or the pod ends it.
func (s *Server) Converse(ctx context.Context, stream *connect.BidiStream[v1alpha1.ConverseRequest, v1alpha1.ConverseResponse]) error {
	first, err := stream.Receive()
	if err != nil {
		return err
	}
	hello := first.GetHello()
	if hello == nil {
		return connect.NewError(connect.CodeInvalidArgument, errors.New("a conversation begins with hello"))
	}
	c := conversation{server: s, bell: newBell()}
	if err := c.identify(ctx, hello.GetToken()); err != nil {
		return err
	}
	defer c.leave()
	if err := c.waitFor(ctx, hello.GetRevisions()); err != nil {
		return err
	}
	streams.Inc()
	defer streams.Dec()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	renewed := make(chan string)
	go listen(ctx, stream, renewed, stop)
	return c.talk(ctx, stream, renewed)
}

// listen passes on what the agent says after hello.
func listen(ctx context.Context, stream *connect.BidiStream[v1alpha1.ConverseRequest, v1alpha1.ConverseResponse], renewed chan<- string, stop context.CancelCauseFunc) {
	for {
		said, err := stream.Receive()
		if err != nil {
			stop(fmt.Errorf("the agent has gone: %w", err))
			return
		}
		if renew := said.GetRenew(); renew != nil {
			select {
			case renewed <- renew.GetToken():
			case <-ctx.Done():
				return
			}
		}
	}
}
