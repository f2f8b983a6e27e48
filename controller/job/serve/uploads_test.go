package serve_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/runner"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// TRUST.md U1: keepers of one namespace that send states without an end keep out no keeper of another one.
func TestUploadsAreShared(t *testing.T) {
	b := newBench(t)
	b.Add("x", serve.Caller{
		Workspace: "x", Run: workspace.Run{UID: "x", Name: "x"}, Claimant: workspace.Claimant{ID: "x", Where: "node"},
	}, serve.Run{Namespace: "shop"})
	b.api.Limits.Uploads = 2
	server := httptest.NewServer(b.api.Handler())
	t.Cleanup(server.Close)
	b.url = server.URL + runner.Path
	b.send(t, request{why: "it has the run", token: "p", method: "POST", path: "r/claim", body: claimOf + `p"}`, status: 200})
	for _, name := range []string{"state-1", "state-2"} {
		body, to := io.Pipe()
		t.Cleanup(func() { _ = to.Close() })
		go func() {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, b.url+"r/blobs/1/"+name, body)
			if !assert.NoError(t, err) {
				return
			}
			r.Header.Set("Authorization", "Bearer p")
			if response, err := http.DefaultClient.Do(r); err == nil {
				_ = response.Body.Close()
			}
		}()
		_, err := to.Write([]byte("x")) // it is being received
		require.NoError(t, err)
	}
	<-time.After(100 * time.Millisecond) // both have their places
	b.send(t, request{
		why: "it is received, and refused for its fence", token: "x", method: "PUT", path: "x/blobs/1/state-x", body: "q", status: 409, reason: runner.Held,
	})
}
