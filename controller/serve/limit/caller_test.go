package limit

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/identity"
)

// A refusal that ends by itself is told apart from those that do not.
func TestRefuseWithAWait(t *testing.T) {
	refused := &domain.Error{Kind: domain.NotYet, Message: "m", Cure: "c"}
	var answer *connect.Error
	delayed := *refused
	delayed.Wait = 1500 * time.Millisecond
	require.ErrorAs(t, Refuse(fmt.Errorf("cannot commit: %w", &delayed), connect.CodeUnavailable), &answer)
	assert.Equal(t, "1500", answer.Meta().Get(HeaderWait))
	require.ErrorAs(t, Refuse(refused, connect.CodeUnavailable), &answer)
	assert.Equal(t, connect.CodeFailedPrecondition, answer.Code())
	assert.Empty(t, answer.Meta().Get(HeaderWait))
}

// RELATIONS.md P4: each kind of refusal has a code; an answer stays as it is, and any other error has the caller's code.
func TestRefuse(t *testing.T) {
	answered := connect.NewError(connect.CodeAborted, errors.New("busy"))
	tests := map[string]struct {
		why  string
		err  error
		code connect.Code
		cure string
	}{
		"Forbidden": {"it may not", &domain.Error{Kind: domain.Forbidden, Message: "m", Cure: "c"}, connect.CodePermissionDenied, "c"},
		"Invalid":   {"it is wrong", &domain.Error{Kind: domain.Invalid, Message: "m", Cure: "c"}, connect.CodeInvalidArgument, "c"},
		"Gone":      {"it has gone", &domain.Error{Kind: domain.Gone, Message: "m", Cure: "c"}, connect.CodeNotFound, "c"},
		"Not yet":   {"it may later", &domain.Error{Kind: domain.NotYet, Message: "m", Cure: "c"}, connect.CodeFailedPrecondition, "c"},
		"Wrapped":   {"a refusal is found within", fmt.Errorf("x: %w", &domain.Error{Kind: domain.Gone, Message: "m"}), connect.CodeNotFound, ""},
		"Answered":  {"an answer stays as it is", fmt.Errorf("x: %w", answered), connect.CodeAborted, ""},
		"Other":     {"no refusal", errors.New("m"), connect.CodeDataLoss, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var answer *connect.Error
			require.ErrorAs(t, Refuse(tc.err, connect.CodeDataLoss), &answer, tc.why)
			assert.Equal(t, tc.code, answer.Code(), tc.why)
			assert.Equal(t, tc.cure, answer.Meta().Get(HeaderCure), tc.why)
			assert.Empty(t, answer.Meta().Get(HeaderWait), "no wait ends it")
		})
	}
}

// A request is of the pod that it was proven for, and of none before that.
func TestProven(t *testing.T) {
	assert.Zero(t, Proven(t.Context()))
	id := identity.Identity{Namespace: "shop", Pod: "blog-1", UID: "uid"}
	assert.Equal(t, id, Proven(Prove(t.Context(), id)))
}
