package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/listener"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1/relationsv1alpha1connect"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/serve/limit"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/identity"
)

// bodyWithin is how long a caller may take to send a request.
const bodyWithin = 10 * time.Second

// HTTP returns the HTTP server of the API. A caller proves which pod it is before anything else of its request is read
// (TRUST.md U3).
func (s *Server) HTTP(address string, config *tls.Config) *http.Server {
	mux := http.NewServeMux()
	path, handler := relationsv1alpha1connect.NewRelationsServiceHandler(s, connect.WithConditionalHandlerOptions(limits),
		connect.WithInterceptors(s.Budgets.Bounded(s.Identities)))
	mux.Handle(path, prover{s.Identities, s.Budgets}.proving(s.Budgets.Holding(s.Identities, s.Streams.rooms.entering(handler))))
	mux.Handle(relationsv1alpha1connect.RelationsServiceConverseProcedure, timely(handler)) // proven by hello
	return listener.New(address, mux, config)
}

// limits returns how large the messages of a procedure may be.
func limits(spec connect.Spec) []connect.HandlerOption {
	if spec.Procedure == relationsv1alpha1connect.RelationsServiceCommitProcedure {
		return []connect.HandlerOption{connect.WithReadMaxBytes(maxCommit)}
	}
	return []connect.HandlerOption{connect.WithReadMaxBytes(maxRequest)}
}

// prover finds out which pods call, and holds each to its pace.
type prover struct {
	Identities

	budgets *limit.Budgets
}

// proving passes on requests whose bearer token names a pod, before it reads their bodies.
func (p prover) proving(next http.Handler) http.Handler {
	errs := connect.NewErrorWriter()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, done, err := p.bearer(r)
		if err != nil {
			_ = errs.Write(w, r, err) // the caller has gone
			return
		}
		defer done()
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyWithin)) // HTTP/1 and HTTP/2 can
		next.ServeHTTP(w, r.WithContext(limit.Prove(r.Context(), id)))
	})
}

func (p prover) bearer(r *http.Request) (id identity.Identity, done func(), err error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return id, nil, connect.NewError(connect.CodeUnauthenticated, errors.New("the Authorization header has no bearer token"))
	}
	return p.prove(r.Context(), token, r.URL.Path)
}

// prove finds out which pod calls, and counts its request until done is called.
func (p prover) prove(ctx context.Context, token, procedure string) (id identity.Identity, done func(), err error) {
	claimed, err := p.Claim(ctx, token)
	if err != nil {
		return id, nil, connect.NewError(connect.CodeUnauthenticated, err)
	}
	if err = p.budgets.Pace(ctx, claimed, procedure); err != nil {
		return id, nil, err
	}
	if id, err = p.review(ctx, token, false); err != nil {
		return id, nil, err
	}
	if done, err = listener.Prove(ctx, id.UID); err != nil {
		return id, nil, connect.NewError(connect.CodeResourceExhausted, err)
	}
	return id, done, nil
}

func (p prover) review(ctx context.Context, token string, renews bool) (identity.Identity, error) {
	id, err := p.Review(ctx, token, renews)
	switch {
	case errors.Is(err, identity.ErrToken):
		return id, connect.NewError(connect.CodeUnauthenticated, err)
	case err != nil:
		return id, connect.NewError(connect.CodeUnavailable, err)
	}
	return id, nil
}
