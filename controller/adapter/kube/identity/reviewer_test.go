package identity

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	authenticationv1 "k8s.io/api/authentication/v1"

	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/identity"
)

// A token proves one pod, or nothing, by what the API server says of it (SAFETY.md S4).
func TestReview(t *testing.T) {
	tests := map[string]struct {
		why    string
		change func(*authenticationv1.TokenReviewStatus)
		proves bool
	}{
		"Bound":         {why: "a pod's own", change: func(*authenticationv1.TokenReviewStatus) {}, proves: true},
		"Deleted":       {why: "its pod has gone", change: func(s *authenticationv1.TokenReviewStatus) { s.Authenticated = false }},
		"OtherAudience": {why: "it is for the API server", change: func(s *authenticationv1.TokenReviewStatus) { s.Audiences = []string{"api"} }},
		"User":          {why: "a person is no pod", change: func(s *authenticationv1.TokenReviewStatus) { s.User.Username = "admin" }},
		"NoPod":         {why: "an old token of the account", change: func(s *authenticationv1.TokenReviewStatus) { s.User.Extra = nil }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			s.answer = answer(test.change)
			r, token := s.reviewer(t), s.sign(t, unchanged)
			id, err := r.Review(t.Context(), token, false)
			if test.proves {
				require.NoError(t, err)
				want := domain.Identity{Namespace: "shop", Account: "default", Pod: "pod-1", UID: "uid-1", Node: "node-1", Expires: expires()}
				assert.WithinDuration(t, want.Expires, id.Expires, 2*time.Second)
				want.Expires = id.Expires
				assert.Equal(t, want, id, test.why)
				return
			}
			require.ErrorIs(t, err, domain.ErrToken, test.why)
			_, again := r.Review(t.Context(), token, false)
			require.Equal(t, err, again)
			assert.Equal(t, 1, s.reviews, "TRUST.md U3: what was refused is not reviewed again at once")
		})
	}
}

// TRUST.md U3: what the API server cannot have issued for this audience costs it no review.
func TestStrangersCostNoReview(t *testing.T) {
	s := newAPIServer(t)
	other := newAPIServer(t)
	tests := map[string]struct{ why, token string }{
		"None":         {why: "no token", token: ""},
		"Garbage":      {why: "it is no JWT", token: "garbage"},
		"Parts":        {why: "its parts are no JSON", token: "a.b.c"},
		"Long":         {why: "no token is as long", token: s.sign(t, func(c map[string]any) { c["x"] = string(make([]byte, maxToken)) })},
		"OtherKey":     {why: "another signed it with a key of that name", token: other.sign(t, unchanged)},
		"UnknownKey":   {why: "it names a key that is not published", token: func() string { other.rotate(t, "other"); return other.sign(t, unchanged) }()},
		"Expired":      {why: "it is over", token: s.sign(t, func(c map[string]any) { c["exp"] = time.Now().Add(-2 * time.Minute).Unix() })},
		"NoExpiry":     {why: "its end is unknown", token: s.sign(t, func(c map[string]any) { delete(c, "exp") })},
		"ExpiryIsText": {why: "its end is unknown", token: s.sign(t, func(c map[string]any) { c["exp"] = "soon" })},
		"NotYet":       {why: "it begins later", token: s.sign(t, func(c map[string]any) { c["nbf"] = time.Now().Add(time.Hour).Unix() })},
		"Audience":     {why: "it is for the API server", token: s.sign(t, func(c map[string]any) { c["aud"] = "api" })},
		"Unsigned":     {why: "alg none", token: "eyJhbGciOiJub25lIn0.eyJhdWQiOiJyZWxhdGlvbnMudGVuZ3UuaW8ifQ."},
	}
	r := s.reviewer(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := r.Review(t.Context(), test.token, false)
			require.ErrorIs(t, err, domain.ErrToken, test.why)
			assert.NotErrorIs(t, err, domain.ErrBusy)
		})
	}
	assert.Zero(t, s.reviews)
	assert.LessOrEqual(t, s.fetches, 1, "keys are fetched anew at most every 10 s")
}

// A new key is accepted at once if none was fetched for 10 s, and else after that.
func TestKeysAreFetchedAnew(t *testing.T) {
	s := newAPIServer(t)
	r, now := s.reviewer(t), time.Now()
	r.keys.now = func() time.Time { return now }
	_, err := r.Review(t.Context(), s.sign(t, unchanged), false)
	require.NoError(t, err)
	s.rotate(t, "second")
	_, err = r.Review(t.Context(), s.sign(t, unchanged), false)
	require.ErrorIs(t, err, domain.ErrToken, "a stranger could name any key")
	now = now.Add(fetchEvery)
	_, err = r.Review(t.Context(), s.sign(t, unchanged), false)
	require.NoError(t, err)
	assert.Equal(t, 2, s.fetches)
}

// TRUST.md U3: what may be good, and names no pod that the informers have, waits for its turn; pods in the informers
// and renewals do not.
func TestUnknownPodsWait(t *testing.T) {
	elsewhere := func(c map[string]any) {
		c["kubernetes.io"] = map[string]any{"namespace": "shop", "pod": map[string]string{"name": "pod-1", "uid": "another"}}
	}
	tests := map[string]struct {
		why         string
		change      func(map[string]any)
		unpublished bool
		renews      bool
		waits       bool
	}{
		"Known":       {why: "the informers have it", change: unchanged},
		"Unknown":     {why: "another UID", change: elsewhere, waits: true},
		"Renews":      {why: "its stream was proven", change: elsewhere, renews: true},
		"OtherIssuer": {why: "the API server may be changing its issuer", change: func(c map[string]any) { c["iss"] = "https://before.example" }, waits: true},
		"Unpublished": {why: "without keys anything may be good", change: unchanged, unpublished: true, waits: true},
		"NoKeysRenew": {why: "its stream was proven", change: unchanged, unpublished: true, renews: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			s.unpublished = test.unpublished
			r := s.reviewer(t)
			r.unknown = rate.NewLimiter(0, 0) // others have used it up
			_, err := r.Review(t.Context(), s.sign(t, test.change), test.renews)
			if test.waits {
				require.ErrorIs(t, err, domain.ErrBusy, test.why)
				assert.Zero(t, s.reviews)
				return
			}
			require.NoError(t, err, test.why)
		})
	}
}

// TRUST.md U3: whose a token is, is known by its signature, without a review; nothing is believed of one that may be good
// only for all that is known.
func TestClaim(t *testing.T) {
	tests := map[string]struct {
		why         string
		change      func(map[string]any)
		unpublished bool
		uid         string
		invalid     bool
	}{
		"Signed":      {why: "the API server has issued it", change: unchanged, uid: "uid-1"},
		"OtherIssuer": {why: "the API server may be changing its issuer", change: func(c map[string]any) { c["iss"] = "https://before.example" }},
		"Unpublished": {why: "without keys anything may be good", change: unchanged, unpublished: true},
		"Expired":     {why: "it is over", change: func(c map[string]any) { c["exp"] = time.Now().Add(-2 * time.Minute).Unix() }, invalid: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			s.unpublished = test.unpublished
			id, err := s.reviewer(t).Claim(t.Context(), s.sign(t, test.change))
			assert.Equal(t, test.invalid, errors.Is(err, domain.ErrToken), test.why)
			assert.Equal(t, test.uid, id.UID, test.why)
			assert.Zero(t, s.reviews)
		})
	}
}

// A review that fails proves nothing about the token, and is made again.
func TestReviewFails(t *testing.T) {
	s := newAPIServer(t)
	s.failed = errors.New("the API server is out of reach")
	r, token := s.reviewer(t), s.sign(t, unchanged)
	_, err := r.Review(t.Context(), token, false)
	require.ErrorIs(t, err, s.failed)
	assert.NotErrorIs(t, err, domain.ErrToken, "the agent tries again with the same token")
	s.failed = nil
	_, err = r.Review(t.Context(), token, false)
	require.NoError(t, err)
}
