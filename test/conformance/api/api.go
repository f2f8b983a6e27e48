package api

import (
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"filippo.io/age"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/directory"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/sealed"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve/servetest"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// API is a jobs API at one address, which can be killed and served again. Its World outlives that, and its store, whose
// states are encrypted. A Run's UID is its token.
type API struct {
	*servetest.World

	// Folder has the store, Address is where it is served.
	Folder, Address string
	// Store has what is stored, States opens the states of it.
	Store, States blob.Store

	mutex  sync.Mutex
	server *http.Server
	closed func() error
	// gates hold the states of Runs back until they are closed.
	gates map[string]chan struct{}
}

// New serves an API with an empty store in a folder.
func New(folder string) (*API, error) {
	a := &API{World: &servetest.World{}, Folder: folder, Address: "127.0.0.1:0", gates: map[string]chan struct{}{}}
	key, err := age.GenerateX25519Identity()
	if err == nil {
		err = os.WriteFile(a.Keys(), []byte(key.String()), 0o600)
	}
	if err == nil {
		err = a.Serve()
	}
	return a, err
}

// Keys returns the file of the keys by which states are encrypted.
func (a *API) Keys() string { return filepath.Join(a.Folder, "keys") }

// Serve starts the server with a store that is opened anew.
func (a *API) Serve() error {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	store, err := directory.Open(filepath.Join(a.Folder, "blobs"))
	if err != nil {
		return err
	}
	states := &sealed.Store{Store: store, Keys: sealed.File(a.Keys()), Prefixes: sealed.Prefixes(), Folder: a.Folder}
	api := &serve.API{
		Workspaces: a.Workspaces(), Runs: a.Runs(), Renewals: a.World, Callers: a.World, Store: states, Clock: time.Now,
		Limits: serve.Limits{Blob: 8 << 20, State: 8 << 20, Uploads: 4, Folder: a.Folder},
	}
	listener, err := net.Listen("tcp", a.Address)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	if address := listener.Addr().String(); a.Address != address { // it is read while the API is served again
		a.Address = address
	}
	a.Store, a.States, a.closed = store, states, store.Close
	a.server = &http.Server{Handler: a.gated(api.Handler()), ReadHeaderTimeout: time.Minute}
	go func(s *http.Server) { _ = s.Serve(listener) }(a.server)
	return nil
}

// Kill ends all connections at once, and takes the store from handlers that still run.
func (a *API) Kill() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	_ = a.server.Close()
	_ = a.closed()
}

// Admit has a Run hold the lock of its Workspace, which is made if there is none. Its keeper claims it by an ID.
func (a *API) Admit(uid, run, claimant string, timing job.Timing, input serve.Run) error {
	who := workspace.Run{UID: run, Name: run}
	err := a.Change(uid, func(w workspace.Workspace) (workspace.Workspace, error) {
		w.Name, w.Terms.Timing = "ns/"+uid, timing
		return w.Acquire(workspace.Admission{Run: who, Published: w.Last.Fence, Now: time.Now()})
	})
	a.Add(run, serve.Caller{Workspace: uid, Run: who, Claimant: workspace.Claimant{ID: claimant, Where: "node"}}, input)
	return err
}

// hold holds the states of a Run back until release is called.
func (a *API) hold(run string) (release func()) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	gate := make(chan struct{})
	a.gates[run] = gate
	return func() { close(gate) }
}

// gated holds back what hold names.
func (a *API) gated(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		a.mutex.Lock()
		gate := a.gates[token]
		a.mutex.Unlock()
		if gate != nil && strings.Contains(r.URL.Path, "/state-") {
			select {
			case <-gate:
			case <-r.Context().Done():
			}
		}
		h.ServeHTTP(w, r)
	})
}
