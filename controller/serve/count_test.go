package serve

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1/relationsv1alpha1connect"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/serve/limit"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/budget"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/identity"
)

// The id that an agent names in hello is counted before the agent is served (TRUST.md T3).
func TestHelloIsCounted(t *testing.T) {
	r := readyReplica()
	server := serveTLS(t, r)
	require.NoError(t, greets(t, server, 0), "an older agent names none")
	var away error
	var of identity.Identity
	var received int
	r.server.Raise = func(_ context.Context, id identity.Identity, last int, _ func(context.Context) error) error {
		of, received = id, last
		return away
	}
	require.NoError(t, greets(t, server, 9))
	assert.Equal(t, 9, received)
	assert.Equal(t, "blog-1", of.Pod)
	away = errors.New("the API server is away")
	assert.Equal(t, connect.CodeUnavailable, connect.CodeOf(greets(t, server, 9)), "it tries again")
}

// A pod whose agent names a higher id with each stream pays for what that writes (TRUST.md U1).
func TestHelloIsPaidFor(t *testing.T) {
	r, now := readyReplica(), time.Now()
	r.server.Budgets = limit.NewBudgets(&shop{}, &shop{}, func() time.Time { return now })
	r.server.Raise = func(ctx context.Context, _ identity.Identity, _ int, pay func(context.Context) error) error {
		return pay(ctx)
	}
	server := serveTLS(t, r)
	for i := range budget.SignalBurst / 2 { // the part of one replica
		require.NoError(t, greets(t, server, int64(i+1)), "stream %d", i)
	}
	err := greets(t, server, budget.SignalBurst)
	assert.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(err), "%v", err)
}

// greets opens a stream with an id in hello, and returns why it was refused.
func greets(t *testing.T, server *httptest.Server, received int64) error {
	t.Helper()
	stream := relationsv1alpha1connect.NewRelationsServiceClient(server.Client(), server.URL).Converse(t.Context())
	hello := &v1alpha1.Hello{Token: "token-blog-1", LastRelation: received}
	require.NoError(t, stream.Send(&v1alpha1.ConverseRequest{Message: &v1alpha1.ConverseRequest_Hello{Hello: hello}}))
	_, err := stream.Receive()
	require.NoError(t, stream.CloseRequest())
	_ = stream.CloseResponse()
	return err
}
