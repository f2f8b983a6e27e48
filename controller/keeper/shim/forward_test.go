package shim_test

import (
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/shim"
)

// JOBS.md J12: Terraform's state is served in the container where the keeper has another network, by each keeper that
// comes.
func TestForward(t *testing.T) {
	folder, err := os.MkdirTemp("", "f") //nolint:usetesting // a socket's path is short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	f := exchange.Folder(folder)
	listener, err := shim.Forward(t.Context(), f, "127.0.0.1:0")
	require.NoError(t, err)
	address := "http://" + listener.Addr().String()
	_, err = http.Post(address, "text/plain", strings.NewReader("early")) //nolint:bodyclose // it fails
	require.Error(t, err, "no keeper is there")
	for range 2 {
		socket, err := net.Listen("unix", exchange.Backend(f))
		require.NoError(t, err)
		keeper := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(w, r.Body)
		})}
		go func() { _ = keeper.Serve(socket) }()
		large := strings.Repeat("x", 1<<20)
		answer, err := http.Post(address, "text/plain", strings.NewReader(large))
		require.NoError(t, err)
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		assert.Equal(t, large, string(text))
		require.NoError(t, answer.Body.Close())
		require.NoError(t, keeper.Close())
		http.DefaultClient.CloseIdleConnections()
	}
	require.NoError(t, listener.Close())
	_, err = http.Get(address) //nolint:bodyclose // it fails
	require.Error(t, err)

	_, err = shim.Forward(t.Context(), f, "192.0.2.1:1")
	require.ErrorContains(t, err, "cannot serve Terraform's state")
}
