package main

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

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
