package election

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// serve serves an identity with its own address in it, until the test ends or it is closed.
func serve(t *testing.T, listener net.Listener, unique string) (server *httptest.Server, identity string) {
	t.Helper()
	identity = Identity("pod", unique, listener.Addr().String())
	server = httptest.NewUnstartedServer(Handler(identity))
	_ = server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return server, identity
}

func listen(t *testing.T, address string) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	require.NoError(t, err)
	return listener
}

const own = "pod_own_192.0.2.1:8081"

// A holder has ended if nothing listens where it answered before, or another process does.
func TestEnded(t *testing.T) {
	server, holder := serve(t, listen(t, "127.0.0.1:0"), "one")
	w := newWitness()
	assert.False(t, w.ended(t.Context(), holder, own), "it answers")
	server.Close()
	assert.True(t, w.ended(t.Context(), holder, own), "nothing listens")
	_, next := serve(t, listen(t, server.Listener.Addr().String()), "two")
	assert.True(t, w.ended(t.Context(), holder, own), "another process has its address")
	assert.False(t, w.ended(t.Context(), next, own), "which runs")
	assert.True(t, w.ended(t.Context(), holder, next), "this process itself has its address")
}

// What proves no end: an address that refuses from the start, as behind a network policy; no answer; an answer of
// something else; a holder without an address.
func TestNotKnownToHaveEnded(t *testing.T) {
	server, holder := serve(t, listen(t, "127.0.0.1:0"), "one")
	server.Close()
	assert.False(t, newWitness().ended(t.Context(), holder, own), "it has never answered")
	for _, holder := range []string{"", "other", "pod_one_", Identity("pod", "one", ""), "pod_one_:8081", "pod_one_host"} {
		assert.False(t, newWitness().ended(t.Context(), holder, own), "%q has no address", holder)
	}
	for name, other := range map[string]http.HandlerFunc{
		"NotFound":  http.NotFound,
		"Redirect":  func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
		"OtherText": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) },
		"Endless": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = w.Write(make([]byte, longest))
			}
		},
		"Hung": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWitness()
			server, holder := serve(t, listen(t, "127.0.0.1:0"), "one")
			assert.False(t, w.ended(t.Context(), holder, own))
			server.Config.Handler = other
			assert.False(t, w.ended(t.Context(), holder, own))
		})
	}
}
