package serve

import (
	"context"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1/relationsv1alpha1connect"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// A replica that does not know yet what the agent has handled must not say that it has
// taken note: it would never be told again (SAFETY.md V4, RELATIONS.md L4).
func TestLeaveWaitsForTheReplica(t *testing.T) {
	r := readyReplica()
	server := serveTLS(t, r)
	api := relationsv1alpha1connect.NewRelationsServiceClient(server.Client(), server.URL)
	request := connect.NewRequest(&v1alpha1.LeaveRequest{Relation: "r-1", Revisions: map[string]uint64{"databags": 12}})
	request.Header().Set("Authorization", "Bearer token-blog-1")
	_, err := api.Leave(t.Context(), request)
	require.Equal(t, connect.CodeUnavailable, connect.CodeOf(err), "%v", err)
	r.publish("one", 12)
	_, err = api.Leave(t.Context(), request)
	require.NoError(t, err)
}

// leaves is a store that keeps what units answer for ends.
type leaves struct {
	Store
	all []domain.Leave
}

func (l *leaves) AnswerEnd(_ context.Context, _, _, _ string, said domain.Leave) error {
	l.all = append(l.all, said)
	return nil
}

// An answer for the end of a relation reaches the store with whether the unit has handled the end, and none for
// an end that has not come (TRUST.md T2).
func TestLeaveOfAnEnd(t *testing.T) {
	r := readyReplica()
	store := &leaves{}
	r.server.Store = store
	server := serveTLS(t, r)
	api := relationsv1alpha1connect.NewRelationsServiceClient(server.Client(), server.URL)
	leave := func(handled bool) {
		request := connect.NewRequest(&v1alpha1.LeaveRequest{Relation: "r-1", Handled: handled})
		request.Header().Set("Authorization", "Bearer token-blog-1")
		_, err := api.Leave(t.Context(), request)
		require.NoError(t, err)
	}
	leave(true)
	assert.Empty(t, store.all, "it has not ended")
	r.set(func() { r.views["blog"].Relations[0].Shown.Life = domain.Ending })
	leave(false)
	leave(true)
	blog := domain.Unit{Application: "blog", Number: 4}
	assert.Equal(t, []domain.Leave{{Unit: blog}, {Unit: blog, Handled: true}}, store.all)
}
