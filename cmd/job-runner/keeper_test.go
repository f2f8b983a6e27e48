package main

import (
	"context"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each connection trusts what the file has then: an authority may be replaced while a run goes on.
func TestTrust(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.Proto)) }))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	file := filepath.Join(t.TempDir(), "ca.crt")
	own := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	require.NoError(t, os.WriteFile(file, own, 0o600))
	transport, err := trusting(file)
	require.NoError(t, err)
	client := &http.Client{Transport: transport}
	get := func() error {
		transport.CloseIdleConnections()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		require.NoError(t, err)
		answer, err := client.Do(r)
		if err != nil {
			return err
		}
		assert.Equal(t, 2, answer.ProtoMajor)
		return answer.Body.Close()
	}
	require.NoError(t, get())
	require.NoError(t, os.WriteFile(file, []byte("none"), 0o600))
	require.ErrorContains(t, get(), file+" has none")
	require.NoError(t, os.WriteFile(file, own, 0o600))
	require.NoError(t, get())

	_, err = trusting(filepath.Join(t.TempDir(), "gone"))
	require.ErrorContains(t, err, "cannot read the trusted certificates")
}

// frozen is a relay to a server. Once it is frozen, what it has accepted before carries nothing more, and is not closed, as
// where a node has lost its power.
type frozen struct {
	server string
	since  chan struct{}
}

// serve relays the connections of a listener until that is closed.
func (f *frozen) serve(listener net.Listener) {
	for {
		in, err := listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", f.server)
		if err != nil {
			_ = in.Close()
			continue
		}
		accepted := f.since
		select {
		case <-f.since:
			accepted = nil // it is younger
		default:
		}
		go f.carry(in, out, accepted)
		go f.carry(out, in, accepted)
	}
}

// carry copies until a connection ends, or until it is frozen.
func (f *frozen) carry(to, from net.Conn, since <-chan struct{}) {
	piece := make([]byte, 1<<10)
	for {
		n, err := from.Read(piece)
		select {
		case <-since:
			return
		default:
		}
		if err == nil {
			_, err = to.Write(piece[:n])
		}
		if err != nil {
			_, _ = to.Close(), from.Close()
			return
		}
	}
}

// A controller whose node is gone without a word is left for the next one before the run counts as lost.
func TestSilentConnection(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	relay := &frozen{server: server.Listener.Addr().String(), since: make(chan struct{})}
	go relay.serve(listener)
	file := filepath.Join(t.TempDir(), "ca.crt")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	transport, err := trusting(file)
	require.NoError(t, err)
	transport.HTTP2.SendPingTimeout, transport.HTTP2.PingTimeout = 50*time.Millisecond, 50*time.Millisecond
	client := &http.Client{Transport: transport}
	renew := func() bool {
		ctx, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+listener.Addr().String(), nil)
		require.NoError(t, err)
		answer, err := client.Do(r)
		return err == nil && answer.Body.Close() == nil
	}
	require.True(t, renew())
	close(relay.since)
	assert.Eventually(t, renew, time.Minute, time.Second)
}
