package object

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// A connection waits for an API server that is away, and the beginning of a watch is noted (TRUST.md A2).
func TestInformerClient(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	watches := atomic.Int64{}
	c, err := InformerClient(t.Context(), &rest.Config{Host: "http://" + address}, func() { watches.Add(1) })
	require.NoError(t, err)
	var up sync.WaitGroup
	up.Go(func() {
		<-time.After(pause / 2)
		back, err := net.Listen("tcp", address)
		if !assert.NoError(t, err) {
			return
		}
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		_ = server.Listener.Close()
		server.Listener = back
		server.Start()
		t.Cleanup(server.Close)
	})
	defer up.Wait()
	for i, path := range []string{"/list", "/list?watch=true"} {
		response, err := c.Get("http://" + address + path)
		require.NoError(t, err, path)
		require.NoError(t, response.Body.Close())
		assert.EqualValues(t, i, watches.Load(), path)
	}
}

// A connection that waits ends with the process.
func TestInformerClientEnds(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	c, err := InformerClient(ctx, &rest.Config{Host: "http://127.0.0.1:1"}, func() {})
	require.NoError(t, err)
	end()
	_, err = c.Get("http://127.0.0.1:1/") //nolint:bodyclose // there is none
	require.ErrorContains(t, err, "cannot connect to the API server")
}
