package identity

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
)

const issuer = "https://kubernetes.default.svc"

// apiServer signs tokens, publishes its keys and reviews.
type apiServer struct {
	client.Client

	mu sync.Mutex
	// keys are what it publishes; the last one signs.
	keys []jose.JSONWebKey
	// answer is what it finds out of every token.
	answer authenticationv1.TokenReviewStatus
	// failed is why reviews fail; unpublished has it publish nothing.
	failed      error
	unpublished bool
	// reviews and fetches count what it was asked.
	reviews, fetches int
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	s := &apiServer{answer: answer(func(*authenticationv1.TokenReviewStatus) {})}
	s.rotate(t, "first")
	return s
}

// rotate has it sign with a new key.
func (s *apiServer) rotate(t *testing.T, id string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = append(s.keys, jose.JSONWebKey{Key: private, KeyID: id, Algorithm: string(jose.ES256), Use: "sig"})
}

// ServeHTTP publishes the keys.
func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unpublished {
		http.NotFound(w, r)
		return
	}
	if r.URL.Path == "/.well-known/openid-configuration" {
		s.fetches++
		fmt.Fprintf(w, `{"issuer":%q}`, issuer)
		return
	}
	var public jose.JSONWebKeySet
	for _, k := range s.keys {
		public.Keys = append(public.Keys, k.Public())
	}
	text, err := json.Marshal(public)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
	_, _ = w.Write(text)
}

// Create reviews a token.
func (s *apiServer) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reviews++
	review, is := o.(*authenticationv1.TokenReview)
	if !is {
		return errors.New("it makes nothing else")
	}
	review.Status = s.answer
	return s.failed
}

// sign returns a token with the claims of pod web-1, changed.
func (s *apiServer) sign(t *testing.T, change func(map[string]any)) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	return signed(t, s.keys[len(s.keys)-1], change)
}

func signed(t *testing.T, key jose.JSONWebKey, change func(map[string]any)) string {
	t.Helper()
	all := map[string]any{
		"iss": issuer, "aud": []string{Audience}, "exp": expires().Unix(), "nbf": time.Now().Add(-time.Minute).Unix(),
		"kubernetes.io": map[string]any{
			"namespace": "shop", "serviceaccount": map[string]string{"name": "default"},
			"pod": map[string]string{"name": "pod-1", "uid": "uid-1"},
		},
	}
	change(all)
	text, err := json.Marshal(all)
	require.NoError(t, err)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, nil)
	require.NoError(t, err)
	object, err := signer.Sign(text)
	require.NoError(t, err)
	token, err := object.CompactSerialize()
	require.NoError(t, err)
	return token
}

func unchanged(map[string]any) {}

// expires is when the tokens end.
func expires() time.Time { return time.Unix(time.Now().Unix()+3600, 0) }

// reviewer returns a Reviewer of that API server, whose informers have pod-1.
func (s *apiServer) reviewer(t *testing.T) *Reviewer {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	published, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	m := kubetest.Memory{}
	m.Put(kubetest.PodOf("ReplicaSet", "web-5d9"))
	return NewReviewer(m, s, published.RESTClient())
}

// answer returns the review of a token that is bound to pod pod-1 in the shop.
func answer(change func(*authenticationv1.TokenReviewStatus)) authenticationv1.TokenReviewStatus {
	s := authenticationv1.TokenReviewStatus{
		Authenticated: true, Audiences: []string{"api", Audience},
		User: authenticationv1.UserInfo{
			Username: "system:serviceaccount:shop:default",
			Extra: map[string]authenticationv1.ExtraValue{
				"authentication.kubernetes.io/pod-name": {"pod-1"}, "authentication.kubernetes.io/pod-uid": {"uid-1"},
				"authentication.kubernetes.io/node-name": {"node-1"},
			},
		},
	}
	change(&s)
	return s
}
