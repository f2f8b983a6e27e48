package serve

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1/relationsv1alpha1connect"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/serve/limit"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/budget"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/identity"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// safe is a store of secrets that counts its readers.
type safe struct {
	SecretStore
	// hold has each reader of namespace held wait until it is closed.
	hold          chan struct{}
	held          atomic.Value
	reads, atOnce atomic.Int64
	mostAtOnce    atomic.Int64
}

func (s *safe) Secret(ctx context.Context, asks []secret.Visitor, id string, _ secret.Query) (secret.Reading, error) {
	s.reads.Add(1)
	if s.held.Load() == asks[0].Namespace {
		now := s.atOnce.Add(1)
		defer s.atOnce.Add(-1)
		s.mostAtOnce.Store(max(s.mostAtOnce.Load(), now))
		select {
		case <-s.hold:
		case <-ctx.Done():
		}
	}
	return secret.Reading{ID: id, Revision: 1, Content: map[string][]byte{"a": []byte("b")}}, nil
}

// tenant returns a function by which a pod reads a secret, on connections of its own.
func tenant(t *testing.T, s *httptest.Server, token string) func() error {
	t.Helper()
	transport := s.Client().Transport.(*http.Transport).Clone() //nolint:forcetypeassert // httptest's
	t.Cleanup(transport.CloseIdleConnections)
	api := relationsv1alpha1connect.NewRelationsServiceClient(&http.Client{Transport: transport}, s.URL)
	return func() error {
		request := connect.NewRequest(&v1alpha1.GetSecretRequest{Id: "a"})
		request.Header().Set("Authorization", "Bearer "+token)
		_, err := api.GetSecret(t.Context(), request)
		return err
	}
}

// inhabit adds a pod of a namespace, whose application has the view of blog.
func (r *replica) inhabit(namespace, name string) {
	r.pod(name)
	r.set(func() {
		id := r.tokens["token-"+name]
		id.Namespace = namespace
		r.tokens["token-"+name] = id
		view := r.views["blog"]
		view.Units = append(view.Units, application.Unit{Number: len(view.Units) + 4, PodUID: "uid-" + name})
		r.views["blog"] = view
	})
}

// TRUST.md U3: a pod that reads a secret without end, as fast as it is answered, costs the API server as many reviews
// and reads as its budget allows, and is not refused, since it has few requests at once. A neighbour does not wait.
func TestReadsWithoutEnd(t *testing.T) {
	r, store := readyReplica(), &safe{}
	r.server.Secrets, r.server.Now = store, time.Now
	r.server.Budgets = limit.NewBudgets(&shop{}, &shop{}, time.Now)
	r.inhabit("library", "novel-1")
	server := serveTLS(t, r)
	read, neighbour := tenant(t, server, "token-blog-1"), tenant(t, server, "token-novel-1")
	require.NoError(t, read(), "a connection has one request until it is proven which pod calls")
	began := time.Now()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for time.Since(began) < 3*time.Second {
				assert.NoError(t, read())
			}
		})
	}
	for range 200 {
		require.NoError(t, neighbour(), "a handler that reads 200 secrets")
	}
	neighbours := time.Since(began)
	all.Wait()
	t.Logf("%d reviews and %d reads in %s; 200 of a neighbour in %s", r.reviewed(), store.reads.Load(), time.Since(began), neighbours)
	passed := int(time.Since(began)/time.Second) + 1
	assert.LessOrEqual(t, r.reviewed(), 200+budget.UnitReadBurst/2+passed*budget.UnitReads/60/2, "reviews")
}

// What is over its budget is refused with the wait before the pod's token is reviewed. Other pods, its own leadership
// and its stream go on.
func TestRequestsBeyondTheBudgetAreRefusedUnreviewed(t *testing.T) {
	c := newCounter(t)
	caller := identity.Identity{Namespace: "shop", UID: "uid-blog-1"}
	c.budgets.Charge(caller, relationsv1alpha1connect.RelationsServiceCommitProcedure, budget.UnitReadByteBurst+60*budget.UnitReadBytes)
	err := c.commit(t)
	var refused *connect.Error
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, connect.CodeResourceExhausted, refused.Code())
	assert.Contains(t, refused.Message(), "cannot answer now: pod blog-1 has used up its budget of requests")
	assert.NotEmpty(t, refused.Meta().Get(limit.HeaderWait))
	assert.Contains(t, refused.Meta().Get(limit.HeaderCure), "try again in")
	assert.Zero(t, c.reviewed(), "reviews")
	lead := connect.NewRequest(&v1alpha1.LeadRequest{})
	lead.Header().Set("Authorization", "Bearer token-blog-1")
	_, err = c.api.Lead(t.Context(), lead)
	require.NoError(t, err, "leadership has a lane of its own")
	c.now.Add(int64(time.Hour))
	require.NoError(t, c.commit(t))
}

// A renewal is a request too: a stream that renews without end is reviewed at the pace of its pod.
func TestRenewalsArePaced(t *testing.T) {
	inBubble(t, func(s scene) {
		s.r.server.Budgets = limit.NewBudgets(&shop{}, &shop{}, time.Now)
		ended := converse(s.ctx, s.r, s.a, "token-blog-1", nil)
		began := time.Now()
		for time.Since(began) < 10*time.Second && len(ended) == 0 {
			s.a.renew("token-blog-1")
			<-time.After(time.Millisecond)
		}
		s.t.Logf("%d reviews in %s", s.r.reviewed(), time.Since(began))
		assert.LessOrEqual(s.t, s.r.reviewed(), budget.UnitReadBurst/2+11*budget.UnitReads/60/2)
		assert.Empty(s.t, ended, "what waits a little is not refused")
	})
}
