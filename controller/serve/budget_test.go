package serve

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/meter"
	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1/relationsv1alpha1connect"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/serve/limit"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/budget"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

// till is a store that takes the cost of each transaction from the budgets of its author.
type till struct {
	Store
	budgets *limit.Budgets
	// bytes and adds are what the next transaction costs.
	bytes int
	adds  budget.Holding
	// within is how long the last request had.
	within time.Duration
	stored int
	// requested counts the transactions that reached the store.
	requested int
}

func (l *till) Commit(ctx context.Context, _ transaction.Commit, _ []secret.Draft) (uint64, error) {
	l.requested++
	end, _ := ctx.Deadline()
	l.within = time.Until(end)
	if err := l.budgets.Afford(ctx, l.bytes, l.adds); err != nil {
		return 0, err
	}
	l.stored++
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://cluster", nil)
	if err != nil {
		return 0, err
	}
	request.ContentLength = int64(l.bytes)
	response, err := meter.Wrap(accepts{}).RoundTrip(request)
	if err != nil {
		return 0, err
	}
	return 0, response.Body.Close()
}

// accepts is an API server that stores everything.
type accepts struct{}

func (accepts) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

func (l *till) Lead(context.Context, string, string, int, string, bool) (leadership.Leader, error) {
	return leadership.Leader{}, nil
}

// shop is what the units of a replica's application hold, and whose shortages are reported.
type shop struct {
	application, namespace budget.Holding
	reported               []budget.Level
}

func (s *shop) Holdings(string, string) (ofApplication, ofNamespace budget.Holding) {
	return s.application, s.namespace
}

func (s *shop) ReportShortage(_ context.Context, _ status.Reporter, short budget.Level) error {
	s.reported = append(s.reported, short)
	return nil
}

// counter is a server with budgets, and a clock that the test sets.
type counter struct {
	*till
	*shop

	api relationsv1alpha1connect.RelationsServiceClient
	now *atomic.Int64
	// reviewed returns how many tokens were reviewed.
	reviewed func() int
}

func newCounter(t *testing.T) counter {
	t.Helper()
	r := readyReplica()
	c := counter{till: &till{}, shop: &shop{}, now: &atomic.Int64{}, reviewed: r.reviewed}
	clock := func() time.Time { return time.Unix(1e9, 0).Add(time.Duration(c.now.Load())) }
	c.budgets = limit.NewBudgets(c.shop, c.shop, clock)
	r.server.Store, r.server.Budgets, r.server.Now = c.till, c.budgets, clock
	server := serveTLS(t, r)
	c.api = relationsv1alpha1connect.NewRelationsServiceClient(server.Client(), server.URL)
	return c
}

func (c counter) commit(t *testing.T) error {
	request := connect.NewRequest(&v1alpha1.CommitRequest{})
	request.Header().Set("Authorization", "Bearer token-blog-1")
	_, err := c.api.Commit(t.Context(), request)
	return err
}

// TRUST.md U1: what is over a budget is refused with the wait, before anything of it is stored; after the wait it is
// stored. It is reported once in a minute, and leadership goes on.
func TestCommitsHaveABudget(t *testing.T) {
	c := newCounter(t)
	c.bytes = budget.UnitByteBurst / 4
	require.NoError(t, c.commit(t))
	c.bytes = budget.MaxTransaction
	err := c.commit(t)
	var refused *connect.Error
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, connect.CodeResourceExhausted, refused.Code())
	assert.Contains(t, refused.Message(), "pod blog-1 has used up its budget of writes")
	assert.Contains(t, refused.Meta().Get(limit.HeaderCure), "try again in")
	wait, err := strconv.Atoi(refused.Meta().Get(limit.HeaderWait))
	require.NoError(t, err)
	assert.Equal(t, 1, c.stored)
	requested := c.requested
	require.Error(t, c.commit(t))
	assert.Equal(t, requested, c.requested, "nothing is read for it before the wait is over")
	assert.Equal(t, []budget.Level{budget.Unit}, c.reported, "once in a minute")

	lead := connect.NewRequest(&v1alpha1.LeadRequest{})
	lead.Header().Set("Authorization", "Bearer token-blog-1")
	_, err = c.api.Lead(t.Context(), lead)
	require.NoError(t, err, "leadership has a lane of its own")

	c.now.Add(int64(wait) * int64(time.Millisecond))
	require.NoError(t, c.commit(t))
	assert.Equal(t, 2, c.stored)
}

// What one transaction must not write, and what would make an application or its namespace hold more than it may, is
// refused for good, with both numbers. What adds nothing is accepted.
func TestCommitsHaveCaps(t *testing.T) {
	c := newCounter(t)
	c.bytes = budget.MaxTransaction + 1
	err := c.commit(t)
	require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err), "%v", err)
	assert.Contains(t, err.Error(), fmt.Sprintf("at most %d bytes of databags and secrets, this one %d", budget.MaxTransaction, c.bytes))
	c.bytes, c.adds, c.application = 1, budget.Holding{Bags: 1}, budget.Holding{Bags: budget.ApplicationBags}
	err = c.commit(t)
	require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err), "%v", err)
	assert.Contains(t, err.Error(), "there may be 4096 databags of an application, and this would make 4097")
	c.adds = budget.Holding{Bytes: -1}
	require.NoError(t, c.commit(t))
}

// TRUST.md U1: a write ends before the lease that admitted it, whatever the agent allows.
func TestRequestsEndBeforeTheLease(t *testing.T) {
	c := newCounter(t)
	require.NoError(t, c.commit(t))
	assert.Less(t, c.within, leadership.Margin)
	assert.Positive(t, c.within)
}
