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
	"gitlab.ilabt.imec.be/tengu/orcon/domain/budget"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// counts are the counts of namespaces.
type counts struct {
	relation.Count
	raised int
	broken error
}

func (c *counts) LastRelation(context.Context, string) (int, error) { return c.Count.LastRelation, nil }

func (c *counts) Raise(_ context.Context, _ string, received int) (err error) {
	if c.broken != nil {
		return c.broken
	}
	c.raised++
	c.Count, err = c.Count.Raise(received)
	return err
}

// The id that an agent names in hello is counted before the agent is served (TRUST.md T3).
func TestHelloCounts(t *testing.T) {
	tests := map[string]struct {
		why      string
		received int64
		broken   error
		want     int
		raised   int
		code     connect.Code
	}{
		"Older":  {why: "an older agent names none", want: 7},
		"Known":  {why: "nothing is written for what is counted", received: 7, want: 7},
		"Later":  {why: "the store was restored", received: 9, want: 9, raised: 1},
		"TooFar": {why: "the agent is served, and its number ignored", received: 1 << 40, want: 7, raised: 1},
		"Broken": {why: "it tries again", received: 9, broken: errors.New("the API server is away"), want: 7, code: connect.CodeUnavailable},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r, c := readyReplica(), &counts{Count: relation.Count{LastRelation: 7}, broken: test.broken}
			r.server.Counter = c
			server := serveTLS(t, r)
			err := greets(t, server, test.received)
			assert.Equal(t, test.want, c.Count.LastRelation, test.why)
			assert.Equal(t, test.raised, c.raised, test.why)
			if test.code != 0 {
				require.Equal(t, test.code, connect.CodeOf(err), "%v", err)
			} else {
				require.NoError(t, err)
			}
		})
	}
}

// A pod whose agent names a higher id with each stream pays for what that writes (TRUST.md U1).
func TestHelloIsPaidFor(t *testing.T) {
	r, c := readyReplica(), &counts{}
	now := time.Now()
	r.server.Counter, r.server.Budgets = c, NewBudgets(&shop{}, &shop{}, func() time.Time { return now })
	server := serveTLS(t, r)
	for i := range budget.SignalBurst / 2 { // the part of one replica
		require.NoError(t, greets(t, server, int64(i+1)), "stream %d", i)
	}
	err := greets(t, server, budget.SignalBurst+10)
	assert.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(err), "%v", err)
	require.NoError(t, greets(t, server, 1), "what is counted costs nothing")
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
