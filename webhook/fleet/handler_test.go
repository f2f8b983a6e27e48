package fleet

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// sets are those of a cluster in memory, by namespace and name; "" is a set without a webhook.
type sets struct {
	tokens map[string]string
	// unread is the error of a secret, and broken that of a write.
	unread, broken error
	woken          []string
}

// Token implements Sets.
func (s *sets) Token(_ context.Context, namespace, set string) (string, error) {
	return s.tokens[namespace+"/"+set], s.unread
}

// Wake implements Sets.
func (s *sets) Wake(_ context.Context, namespace, set string) error {
	s.woken = append(s.woken, namespace+"/"+set)
	return s.broken
}

// signed returns GitHub's signature of a body.
func signed(body, token string) string {
	signature := hmac.New(sha256.New, []byte(token))
	_, _ = io.WriteString(signature, body)
	return "sha256=" + hex.EncodeToString(signature.Sum(nil))
}

// post returns the answer to a request with a header.
func post(h *Handler, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// A request that proves the secret in one of three ways wakes the set, and no other does (FLEET.md D5).
func TestProofs(t *testing.T) {
	const body, token, path = `{"ref": "refs/heads/main"}`, "hush", "/fleet/ns/prod"
	tests := map[string]struct {
		path   string
		header []string
		wakes  bool
	}{
		"GitHub":            {path, []string{"X-Hub-Signature-256", signed(body, token), "X-GitHub-Event", "push"}, true},
		"GitLab":            {path, []string{"X-Gitlab-Token", token}, true},
		"Bearer":            {path, []string{"Authorization", "Bearer " + token}, true},
		"OneOfThem":         {path, []string{"Authorization", "Bearer x", "X-Gitlab-Token", token}, true},
		"Nothing":           {path, nil, false},
		"OtherSecret":       {path, []string{"X-Hub-Signature-256", signed(body, "other")}, false},
		"OtherBody":         {path, []string{"X-Hub-Signature-256", signed("other", token)}, false},
		"NoHex":             {path, []string{"X-Hub-Signature-256", "sha256=x"}, false},
		"HalfSignature":     {path, []string{"X-Hub-Signature-256", signed(body, token)[:39]}, false},
		"EmptySignature":    {path, []string{"X-Hub-Signature-256", "sha256="}, false},
		"OlderSignature":    {path, []string{"X-Hub-Signature", signed(body, token)}, false},
		"SignatureAsToken":  {path, []string{"X-Gitlab-Token", signed(body, token)}, false},
		"OtherToken":        {path, []string{"X-Gitlab-Token", "hush2"}, false},
		"Basic":             {path, []string{"Authorization", "Basic " + token}, false},
		"NoScheme":          {path, []string{"Authorization", token}, false},
		"NoSet":             {"/fleet/ns/none", []string{"X-Gitlab-Token", ""}, false},
		"NoSetSigned":       {"/fleet/ns/none", []string{"X-Hub-Signature-256", signed(body, "")}, false},
		"NoWebhook":         {"/fleet/ns/quiet", []string{"Authorization", "Bearer "}, false},
		"SecretOfAnother":   {"/fleet/ns/other", []string{"X-Gitlab-Token", token}, false},
		"OfOtherNamespaces": {"/fleet/other/prod", []string{"X-Gitlab-Token", token}, false},
	}
	refusal := ""
	for name, test := range tests {
		s := &sets{tokens: map[string]string{"ns/prod": token, "ns/quiet": "", "ns/other": "else"}}
		w := post(New(s, 0), test.path, body, test.header...)
		if test.wakes {
			assert.Equal(t, http.StatusAccepted, w.Code, name)
			assert.Equal(t, []string{"ns/prod"}, s.woken, name)
			assert.Empty(t, w.Body.String(), name)
			continue
		}
		assert.Equal(t, http.StatusForbidden, w.Code, name)
		assert.Empty(t, s.woken, name)
		if refusal == "" {
			refusal = w.Body.String()
		}
		assert.Equal(t, refusal, w.Body.String(), "all refusals are one answer: %s", name)
	}
	assert.Contains(t, refusal, "refused: check the address, spec.data.webhook of the IntegrationSet, and the secret")
}

// Whatever a request and a secret are, the right proof counts and another one does not.
func TestProofProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[!-~]{1,40}`)
		token, other, body := text.Draw(t, "token"), text.Draw(t, "other"), rapid.String().Draw(t, "body")
		for _, secret := range []string{token, other} {
			for _, header := range []http.Header{
				{"X-Hub-Signature-256": {signed(body, secret)}}, {"X-Gitlab-Token": {secret}}, {"Authorization": {"Bearer " + secret}},
			} {
				assert.Equal(t, secret == token, proves(header, []byte(body), token))
				assert.False(t, proves(header, []byte(body), ""))
			}
		}
	})
}

// Requests of another form are refused before any set is looked at.
func TestForms(t *testing.T) {
	s := &sets{tokens: map[string]string{"ns/prod": "hush"}}
	h := New(s, time.Hour)
	for path, want := range map[string]int{
		"/": 404, "/fleet": 404, "/fleet/ns": 404, "/fleet/ns/": 404, "/fleet//prod": 404, "/fleet/ns/prod/more": 404, "/fleets/ns/prod": 404, "/x/fleet/ns/prod": 404,
	} {
		assert.Equal(t, want, post(h, path, "", "X-Gitlab-Token", "hush").Code, path)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/fleet/ns/prod", nil))
	assert.Equal(t, http.StatusMethodNotAllowed, w.Code)
	assert.Equal(t, http.MethodPost, w.Header().Get("Allow"))
	assert.Equal(t, http.StatusRequestEntityTooLarge, post(h, "/fleet/ns/prod", strings.Repeat("x", maxBody+1), "X-Gitlab-Token", "hush").Code)
	assert.Equal(t, http.StatusAccepted, post(h, "/fleet/ns/prod", strings.Repeat("x", maxBody), "X-Gitlab-Token", "hush").Code)
	assert.Equal(t, []string{"ns/prod"}, s.woken)
}

// A secret that cannot be read is none, and a set that cannot be woken is told to the sender, who tries again.
func TestErrors(t *testing.T) {
	s := &sets{tokens: map[string]string{"ns/prod": "hush"}, unread: errors.New("forbidden")}
	h := New(s, 0)
	w := post(h, "/fleet/ns/prod", "", "X-Gitlab-Token", "hush")
	assert.Equal(t, http.StatusForbidden, w.Code)
	assert.NotContains(t, w.Body.String(), "forbidden")
	s.unread, s.broken = nil, errors.New("no etcd")
	w = post(h, "/fleet/ns/prod", "", "X-Gitlab-Token", "hush")
	assert.Equal(t, http.StatusServiceUnavailable, w.Code)
	assert.NotContains(t, w.Body.String(), "etcd")
}

// slow is a body that waits for its end.
type slow struct{ end chan struct{} }

// Read implements io.Reader.
func (s slow) Read([]byte) (int, error) {
	<-s.end
	return 0, io.EOF
}

// Requests beyond a number wait for none of the others.
func TestBusy(t *testing.T) {
	s := &sets{tokens: map[string]string{"ns/prod": "hush"}}
	h := New(s, 0)
	body, ended := slow{make(chan struct{})}, make(chan struct{})
	for range maxRequests {
		go func() {
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/fleet/ns/none", body))
			ended <- struct{}{}
		}()
	}
	require.Eventually(t, func() bool { return len(h.places) == maxRequests }, 10*time.Second, time.Millisecond)
	w := post(h, "/fleet/ns/prod", "", "X-Gitlab-Token", "hush")
	assert.Equal(t, http.StatusServiceUnavailable, w.Code)
	assert.Equal(t, "10", w.Header().Get("Retry-After"))
	close(body.end)
	for range maxRequests {
		<-ended
	}
	assert.Equal(t, http.StatusAccepted, post(h, "/fleet/ns/prod", "", "X-Gitlab-Token", "hush").Code)
}

// A refusal comes after one time, so that it does not tell which sets exist; a sender that leaves is not waited for.
func TestRefusalTakesTime(t *testing.T) {
	s := &sets{tokens: map[string]string{"ns/prod": "hush"}}
	for _, path := range []string{"/fleet/ns/prod", "/fleet/ns/none"} {
		began := time.Now()
		assert.Equal(t, http.StatusForbidden, post(New(s, 50*time.Millisecond), path, "").Code)
		assert.GreaterOrEqual(t, time.Since(began), 50*time.Millisecond)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	New(s, time.Hour).ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodPost, "/fleet/ns/prod", http.NoBody))
}
