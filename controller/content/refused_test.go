package content_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/destination"
)

// guarded fetches as the bundle controller does, with an allowed list.
func guarded(t *testing.T, allowed ...string) content.Fetcher {
	t.Helper()
	var rules destination.Rules
	for _, entry := range allowed {
		require.NoError(t, rules.Allowed.Add(entry))
	}
	return content.Fetcher{Track: true, Destinations: func(context.Context) (destination.Rules, error) { return rules, nil }}
}

// privateKey returns a new key for SSH.
func privateKey(t *testing.T) string {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	block, err := ssh.MarshalPrivateKey(key, "")
	require.NoError(t, err)
	return string(pem.EncodeToMemory(block))
}

// TestServersAreRefused fetches from a server of this machine by each origin: not a byte is sent to it
// (TRUST.md R4).
func TestServersAreRefused(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	go func() {
		for {
			if _, err := listener.Accept(); err != nil {
				return
			}
			assert.Fail(t, "a connection was opened")
		}
	}()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	key := content.Source{}
	key.Credentials.PrivateKey, key.Credentials.KnownHosts = privateKey(t), "# none"
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"} {
		at := host + ":" + port
		for _, reference := range []string{"http://" + at + "/a.tgz", "https://" + at + "/a.tgz", "git+http://" + at + "/a", "git+ssh://git@" + at + "/a", "oci://" + at + "/a:v1"} {
			if strings.HasPrefix(host, "[") && !strings.Contains(reference, "http") {
				continue // the libraries know no such host
			}
			source := parsed(t, reference)
			source.Credentials = key.Credentials
			_, _, err := guarded(t).Fetch(t.Context(), source)
			require.ErrorContains(t, err, "which is refused", reference)
		}
	}
	for _, reference := range []string{"http://db.shop.svc/a.tgz", "git+https://git.shop.svc.cluster.local/a", "oci://registry.shop.svc:5000/a:v1"} {
		_, _, err := guarded(t).Fetch(t.Context(), parsed(t, reference))
		require.ErrorContains(t, err, "a name of the cluster, which is refused", reference)
	}
}

// TestRedirectsAreRefused has an allowed server redirect to one that is not.
func TestRedirectsAreRefused(t *testing.T) {
	other := &httptest.Server{Config: &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		assert.Fail(t, "it was asked")
	})}}
	var err error
	other.Listener, err = net.Listen("tcp", "127.0.0.2:0")
	require.NoError(t, err)
	other.Start()
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusFound)
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	for _, reference := range []string{server.URL + "/a.tgz", "git+" + server.URL + "/a", "oci://" + host + "/a:v1"} {
		_, _, err := guarded(t, "127.0.0.1").Fetch(t.Context(), parsed(t, reference))
		require.ErrorContains(t, err, "which is refused", reference)
		assert.NotContains(t, err.Error(), "127.0.0.2", "a redirect is what a server sent")
	}
}

// TestServersAreAllowed fetches what an administrator allows: by network, and by name.
func TestServersAreAllowed(t *testing.T) {
	text := packed(t, "a.yaml", "x")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(text) }))
	defer server.Close()
	for allowed, address := range map[string]string{
		"127.0.0.0/8": server.URL, "localhost": strings.Replace(server.URL, "127.0.0.1", "localhost", 1),
	} {
		_, _, err := guarded(t, allowed).Fetch(t.Context(), parsed(t, address+"/a.tar"))
		require.NoError(t, err, allowed)
	}
}
