package serve

import (
	"strings"
	"testing"
	"unicode/utf8"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1/relationsv1alpha1connect"
)

// A cause is the agent's word, and the record has room for so much of it.
func TestCausesAreShort(t *testing.T) {
	assert.Equal(t, "db-relation-changed (db/0)", shortened("db-relation-changed (db/0)"))
	for _, cause := range []string{strings.Repeat("a", 201), strings.Repeat("é", 150), "a" + strings.Repeat("€", 100)} {
		got := shortened(cause)
		assert.LessOrEqual(t, len(got), 200)
		assert.Greater(t, len(got), 190)
		assert.True(t, utf8.ValidString(got))
		assert.True(t, strings.HasPrefix(cause, strings.TrimSuffix(got, "…")))
	}
}

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
