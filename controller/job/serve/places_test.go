package serve

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// receiving is a server with places; the path of a request is its tenant.
type receiving struct {
	t      *testing.T
	url    string
	client *http.Client
	// began has the tenant of each body that has a place.
	began chan string
	stop  chan struct{}
}

func newReceiving(t *testing.T, places *Places, http2 bool) *receiving {
	t.Helper()
	b := &receiving{t: t, began: make(chan string, 16), stop: make(chan struct{})}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leave, err := places.Take(w, r, r.URL.Path)
		if err == nil {
			defer leave()
			b.began <- r.URL.Path
			_, err = io.Copy(io.Discard, r.Body)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	}))
	server.EnableHTTP2 = http2
	server.StartTLS()
	b.url, b.client = server.URL, server.Client()
	t.Cleanup(func() { close(b.stop); server.Close() })
	return b
}

// slow sends a body of a tenant that never ends, and returns where its answer will be.
func (b *receiving) slow(tenant string) <-chan int {
	b.t.Helper()
	body, to := io.Pipe()
	answer := make(chan int, 1)
	go func() {
		_, _ = to.Write([]byte("x"))
		<-b.stop
		_ = to.Close()
	}()
	go func() { answer <- b.send(tenant, body) }()
	assert.Equal(b.t, tenant, <-b.began)
	return answer
}

func (b *receiving) send(tenant string, body io.Reader) int {
	response, err := b.client.Post(b.url+tenant, "", body)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// both are the versions of HTTP.
func both(t *testing.T, test func(t *testing.T, http2 bool)) {
	t.Helper()
	t.Run("HTTP1", func(t *testing.T) { test(t, false) })
	t.Run("HTTP2", func(t *testing.T) { test(t, true) })
}

// fails waits until a body has lost its place.
func (b *receiving) fails(answer <-chan int) {
	b.t.Helper()
	select {
	case got := <-answer:
		assert.NotEqual(b.t, http.StatusOK, got)
	case <-time.After(10 * time.Second):
		require.Fail(b.t, "it goes on")
	}
}

// TRUST.md U1: one tenant whose bodies never end keeps out its own others, and no other tenant.
func TestPlacesAreShared(t *testing.T) {
	both(t, func(t *testing.T, http2 bool) {
		b := newReceiving(t, NewPlaces(4), http2)
		oldest := b.slow("/evil")
		for range 3 {
			b.slow("/evil")
		}
		assert.Equal(t, http.StatusServiceUnavailable, b.send("/evil", http.NoBody))
		assert.Equal(t, http.StatusOK, b.send("/shop", http.NoBody))
		b.fails(oldest)
	})
}

// TRUST.md U3: a body that comes too slowly loses its place, also to its own tenant.
func TestPlacesOfTheSlow(t *testing.T) {
	both(t, func(t *testing.T, http2 bool) {
		places := NewPlaces(1)
		places.within = 100 * time.Millisecond
		b := newReceiving(t, places, http2)
		b.fails(b.slow("/evil"))
		assert.Equal(t, http.StatusOK, b.send("/shop", http.NoBody))
	})
}

// A body that has come leaves its connection without a deadline: the store may take longer.
func TestPlacesOfTheStored(t *testing.T) {
	both(t, func(t *testing.T, http2 bool) {
		places, stored := NewPlaces(1), make(chan error, 1)
		places.within = 50 * time.Millisecond
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			leave, err := places.Take(w, r, "shop")
			if !assert.NoError(t, err) {
				return
			}
			defer leave()
			_, _ = io.Copy(io.Discard, r.Body)
			<-time.After(4 * places.within)
			stored <- r.Context().Err()
		}))
		server.EnableHTTP2 = http2
		server.StartTLS()
		defer server.Close()
		response, err := server.Client().Post(server.URL, "", strings.NewReader("x"))
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.NoError(t, <-stored)
	})
}
