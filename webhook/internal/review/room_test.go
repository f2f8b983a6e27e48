package review_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/webhook/internal/review"
	"gitlab.ilabt.imec.be/tengu/orcon/webhook/internal/scan"
)

// strangers connect and send nearly all of a large request.
func strangers(t *testing.T, server *httptest.Server, count int) {
	t.Helper()
	const size = 5 << 20
	part := append([]byte(fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", size)),
		bytes.Repeat([]byte(" "), size-1)...)
	for range count {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		go func() { _, _ = conn.Write(part) }()
	}
}

func serve(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(review.Handler[struct{}]{
		Concerns: func(*review.Request[struct{}]) bool { return true },
		Read:     func(c *scan.Cursor, _ *struct{}) { c.Skip() },
		Judge:    func(*review.Request[struct{}]) review.Answer { return review.Answer{} },
	})
	t.Cleanup(server.CloseClientConnections)
	return server
}

// Requests without proof take little of the webhook's 192 MiB, and pods are admitted meanwhile (TRUST.md U3).
func TestStrangersTakeNoMemory(t *testing.T) {
	limit := debug.SetMemoryLimit(64 << 20) // what is over it is in use
	t.Cleanup(func() { debug.SetMemoryLimit(limit) })
	server := serve(t)
	strangers(t, server, 64)
	assert.Never(t, func() bool {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse > 128<<20
	}, time.Second, 20*time.Millisecond, "they have sent 320 MiB")
	began := time.Now()
	status, _ := send(t, server.Client(), server.URL, 8<<10)
	assert.Equal(t, http.StatusOK, status)
	assert.Less(t, time.Since(began), 2*time.Second)
	response, err := server.Client().Post(server.URL, "application/json", strings.NewReader(strings.Repeat(" ", 1<<20)))
	require.NoError(t, err)
	assert.NoError(t, response.Body.Close())
	assert.Less(t, time.Since(began), 5*time.Second, "a large one is answered too while an API server waits: there is room, or none")
}

// A client that stops in the middle of a large request makes room for the next.
func TestStrangersMakeRoom(t *testing.T) {
	server := serve(t)
	strangers(t, server, 4)
	status, answer := send(t, server.Client(), server.URL, 1<<20)
	assert.Equal(t, http.StatusOK, status)
	assert.True(t, answer.Allowed)
	assert.EqualValues(t, "a uid", answer.UID)
}
