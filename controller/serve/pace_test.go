package serve

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1/relationsv1alpha1connect"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/budget"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/identity"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// safe is a store of secrets that counts its readers.
type safe struct {
	SecretStore
	// hold has each reader wait until it is closed; nil for no wait.
	hold           chan struct{}
	reads, atOnce  atomic.Int64
	mostAtOnce     atomic.Int64
	heldNamespaces map[string]bool
}

func (s *safe) Secret(ctx context.Context, asks []secret.Visitor, id string, _ secret.Query) (secret.Reading, error) {
	s.reads.Add(1)
	if s.heldNamespaces[asks[0].Namespace] {
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
	r.server.Budgets = NewBudgets(&shop{}, &shop{}, time.Now)
	r.inhabit("library", "novel-1")
	server := serveTLS(t, r)
	read, neighbour := tenant(t, server, "token-blog-1"), tenant(t, server, "token-novel-1")
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
	writer := budget.Writer{Namespace: "shop", Unit: "uid-blog-1"}
	c.budgets.reads.Spend(writer, budget.Cost{Commits: budget.UnitReadBurst + 1000}, c.budgets.now())
	err := c.commit(t)
	var refused *connect.Error
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, connect.CodeResourceExhausted, refused.Code())
	assert.Contains(t, refused.Message(), "cannot answer now: pod blog-1 has used up its budget of requests")
	assert.NotEmpty(t, refused.Meta().Get(headerWait))
	assert.Contains(t, refused.Meta().Get(headerCure), "try again in")
	assert.Zero(t, c.reviewed(), "reviews")
	lead := connect.NewRequest(&v1alpha1.LeadRequest{})
	lead.Header().Set("Authorization", "Bearer token-blog-1")
	_, err = c.api.Lead(t.Context(), lead)
	require.NoError(t, err, "leadership has a lane of its own")
	c.now.Add(int64(time.Hour))
	require.NoError(t, c.commit(t))
}

// TRUST.md U3: however many pods of a namespace request as much as they can, each has at most its rate, all together
// have the namespace's, a pod elsewhere waits for nothing, and a request that waits is refused or answered in time.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, began := NewBudgets(&shop{}, &shop{}, time.Now), time.Now()
		const lasts, pods = time.Minute, 40
		var admitted, refused atomic.Int64
		perPod := make([]atomic.Int64, pods)
		for n := range pods * 8 {
			id := identity.Identity{Namespace: "shop", UID: fmt.Sprint(n % pods), Pod: "p"}
			go func() {
				for time.Since(began) < lasts {
					asked := time.Now()
					if err := b.pace(t.Context(), id, relationsv1alpha1connect.RelationsServiceGetSecretProcedure); err != nil {
						refused.Add(1)
						<-time.After(50 * time.Millisecond)
						continue
					}
					assert.LessOrEqual(t, time.Since(asked), longestHold)
					admitted.Add(1)
					perPod[n%pods].Add(1)
					<-time.After(time.Millisecond)
				}
			}()
		}
		quiet := identity.Identity{Namespace: "library", UID: "quiet", Pod: "quiet"}
		for time.Since(began) < lasts {
			asked := time.Now()
			require.NoError(t, b.pace(t.Context(), quiet, relationsv1alpha1connect.RelationsServiceGetSecretProcedure))
			assert.Zero(t, time.Since(asked), "a neighbour waits for nothing")
			<-time.After(500 * time.Millisecond)
		}
		<-time.After(longestHold + time.Second)
		limits, passed := budget.Reads(), (lasts + longestHold).Seconds()
		t.Logf("%d pods: %d requests admitted, %d refused", pods, admitted.Load(), refused.Load())
		assert.LessOrEqual(t, float64(admitted.Load()), limits.Namespace.Burst.Commits+limits.Namespace.Rate.Commits*passed)
		assert.GreaterOrEqual(t, float64(admitted.Load()), limits.Namespace.Burst.Commits+limits.Namespace.Rate.Commits*(lasts-time.Second).Seconds())
		assert.Positive(t, refused.Load())
		for i := range perPod {
			assert.LessOrEqual(t, float64(perPod[i].Load()), limits.Unit.Burst.Commits+limits.Unit.Rate.Commits*passed)
		}
	})
}

// A renewal is a request too: a stream that renews without end is reviewed at the pace of its pod.
func TestRenewalsArePaced(t *testing.T) {
	inBubble(t, func(s scene) {
		s.r.server.Budgets = NewBudgets(&shop{}, &shop{}, time.Now)
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
