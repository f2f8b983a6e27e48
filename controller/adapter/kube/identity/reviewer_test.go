package identity

import (
	"context"
	"encoding/base64"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/identity"
)

// tokens is an API server that reviews every token alike.
type tokens struct {
	client.Client

	answer authenticationv1.TokenReviewStatus
	failed error
}

func (s tokens) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	if review, is := o.(*authenticationv1.TokenReview); is {
		review.Status = s.answer
	}
	return s.failed
}

// jwt returns a token with claims.
func jwt(claims string) string {
	return "head." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".signature"
}

// answer returns the review of a token that is bound to pod web-1 in the shop.
func answer(change func(*authenticationv1.TokenReviewStatus)) authenticationv1.TokenReviewStatus {
	s := authenticationv1.TokenReviewStatus{
		Authenticated: true, Audiences: []string{"api", Audience},
		User: authenticationv1.UserInfo{
			Username: "system:serviceaccount:shop:default",
			Extra: map[string]authenticationv1.ExtraValue{
				"authentication.kubernetes.io/pod-name": {"web-1"}, "authentication.kubernetes.io/pod-uid": {"uid-1"},
			},
		},
	}
	change(&s)
	return s
}

// A token proves one pod, or nothing (SAFETY.md S4).
func TestReview(t *testing.T) {
	unchanged := func(*authenticationv1.TokenReviewStatus) {}
	tests := map[string]struct {
		why    string
		token  string
		change func(*authenticationv1.TokenReviewStatus)
		proves bool
	}{
		"Bound":           {why: "a pod's own", token: jwt(`{"exp": 1800000000}`), change: unchanged, proves: true},
		"None":            {why: "no token", change: unchanged},
		"NotSigned":       {why: "the API server did not sign it", token: jwt(`{"exp": 1}`), change: func(s *authenticationv1.TokenReviewStatus) { s.Authenticated = false }},
		"OtherAudience":   {why: "it is for the API server", token: jwt(`{"exp": 1}`), change: func(s *authenticationv1.TokenReviewStatus) { s.Audiences = []string{"api"} }},
		"User":            {why: "a person is no pod", token: jwt(`{"exp": 1}`), change: func(s *authenticationv1.TokenReviewStatus) { s.User.Username = "admin" }},
		"NoPod":           {why: "an old token of the account", token: jwt(`{"exp": 1}`), change: func(s *authenticationv1.TokenReviewStatus) { s.User.Extra = nil }},
		"NotJWT":          {why: "its end is unknown", token: "opaque", change: unchanged},
		"NoExpiry":        {why: "its end is unknown", token: jwt(`{}`), change: unchanged},
		"NotBase64":       {why: "its end is unknown", token: "head.%.signature", change: unchanged},
		"ExpiryIsNoClaim": {why: "its end is unknown", token: jwt(`{"exp": "soon"}`), change: unchanged},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			id, err := Reviewer{Writer: tokens{answer: answer(test.change)}}.Review(t.Context(), test.token)
			if !test.proves {
				require.ErrorIs(t, err, domain.ErrToken, test.why)
				return
			}
			require.NoError(t, err)
			want := domain.Identity{Namespace: "shop", Account: "default", Pod: "web-1", UID: "uid-1", Expires: time.Unix(1800000000, 0)}
			assert.Equal(t, want, id, test.why)
		})
	}
}

// A review that fails proves nothing about the token.
func TestReviewFails(t *testing.T) {
	down := errors.New("the API server is out of reach")
	_, err := Reviewer{Writer: tokens{failed: down}}.Review(t.Context(), jwt(`{"exp": 1}`))
	require.ErrorIs(t, err, down)
	assert.NotErrorIs(t, err, domain.ErrToken, "the agent tries again with the same token")
}
