package stream

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1/relationsv1alpha1connect"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
)

// TRUST.md U1: a refusal with a wait is one that ends by itself; without, as of too many requests of a pod, it is none,
// and the call is made again.
func TestRefusalWithAWait(t *testing.T) {
	answers := func(headers map[string]string) error {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			refused := connect.NewError(connect.CodeResourceExhausted, errors.New("the budget is used up"))
			for name, value := range headers {
				refused.Meta().Set(name, value)
			}
			_ = connect.NewErrorWriter().Write(w, r, refused)
		}))
		defer server.Close()
		c := &Client{Address: server.URL}
		_, err := relationsv1alpha1connect.NewRelationsServiceClient(server.Client(), server.URL).Get(t.Context(), connect.NewRequest(&wire.GetRequest{}))
		return c.refused(err)
	}
	err := answers(map[string]string{headerWait: "1500", headerCure: "write less"})
	assert.Equal(t, 1500*time.Millisecond, conversation.DelayOf(err))
	assert.Equal(t, conversation.NotYet, conversation.RefusalOf(err))
	assert.Equal(t, "the budget is used up; write less", err.Error())
	for _, headers := range []map[string]string{nil, {headerWait: "0"}, {headerWait: "-5"}, {headerWait: "soon"}} {
		err := answers(headers)
		assert.Zero(t, conversation.DelayOf(err), "%v", headers)
		assert.Empty(t, conversation.RefusalOf(err))
	}
}
