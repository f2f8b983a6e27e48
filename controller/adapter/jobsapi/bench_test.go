package jobsapi_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/directory"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/jobsapi"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve/servetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// bench is the jobs API with workspace w in memory, whose lock Run r has, and a real store.
type bench struct {
	*servetest.World

	folder string
	api    serve.API
	server *httptest.Server
	// die says after each write whether the server dies.
	die func() bool
}

func newBench(t testing.TB) *bench {
	folder := t.TempDir()
	store, err := directory.Open(filepath.Join(folder, "blobs"))
	require.NoError(t, err)
	b := &bench{World: &servetest.World{}, folder: folder, die: func() bool { return false }}
	b.api = serve.API{
		Workspaces: b.Workspaces(), Runs: b.Runs(), Renewals: b.World, Callers: b.World, Store: store, Clock: time.Now, Secrets: vault{},
		Limits: serve.Limits{Blob: 1 << 20, State: 1 << 20, Uploads: 4, Folder: folder},
	}
	b.server = httptest.NewServer(servetest.Mortal(b.api, func() bool { return b.die() }).Handler())
	t.Cleanup(func() {
		b.server.Close()
		store.Close()
	})
	b.admit(t, "r")
	return b
}

// admit gives the lock to a Run.
func (b *bench) admit(t require.TestingT, run string) {
	require.NoError(t, b.Change("w", func(w workspace.Workspace) (workspace.Workspace, error) {
		w.Name, w.Terms.Timing = "ns/w", job.DefaultTiming()
		return w.Acquire(workspace.Admission{Run: workspace.Run{UID: run, Name: run}, Published: w.Last.Fence, Now: time.Now()})
	}))
}

// client returns the client of a pod of a Run.
func (b *bench) client(t require.TestingT, run, pod string) *jobsapi.Client {
	b.Add(pod, serve.Caller{
		Workspace: "w", Run: workspace.Run{UID: run, Name: run}, Claimant: workspace.Claimant{ID: pod, Where: "node"},
	}, serve.Run{Parameters: `{"a":1}`})
	file := filepath.Join(b.folder, "token-"+pod)
	require.NoError(t, os.WriteFile(file, []byte(pod+"\n"), 0o600))
	return &jobsapi.Client{
		Address: b.server.URL, Run: run, TokenFile: file, HTTP: &http.Client{}, Clock: keeper.BootTime, Timeout: time.Minute,
	}
}

// archive is a state whose content is its digest.
func archive(fence int64, content string) keeper.State {
	sum := sha256.Sum256([]byte(content))
	digest := hex.EncodeToString(sum[:])
	return keeper.State{Digest: digest, Blob: blob.Key{Workspace: "w", Fence: fence, Name: "state-" + digest}, Size: int64(len(content))}
}

// insist repeats a call until it is answered, as a keeper does.
func insist(call func() error) error {
	for {
		err := call()
		switch {
		case err == nil, strings.Contains(err.Error(), "workspace"), strings.Contains(err.Error(), "claimed"), strings.Contains(err.Error(), "refused"):
			return err
		}
	}
}
