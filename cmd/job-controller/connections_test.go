package main

import (
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TRUST.md U3: an address has so many connections and no more, and has others when it has closed some.
func TestConnectionsAreBounded(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &http.Server{Handler: http.NotFoundHandler(), ConnState: limited(3), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", listener.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	stays := func(conn net.Conn) bool {
		_ = conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		_, err := conn.Read(make([]byte, 1))
		late, is := err.(net.Error) //nolint:errorlint // it is not wrapped
		return is && late.Timeout()
	}
	var kept []net.Conn
	for range 3 {
		kept = append(kept, dial())
		assert.True(t, stays(kept[len(kept)-1]))
	}
	assert.False(t, stays(dial()), "one too many")
	assert.True(t, stays(kept[0]), "the others stay")
	require.NoError(t, kept[0].Close())
	require.Eventually(t, func() bool { return stays(dial()) }, 10*time.Second, 10*time.Millisecond)
}
