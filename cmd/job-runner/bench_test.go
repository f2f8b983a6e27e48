package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/directory"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/sealed"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve/servetest"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
	"gitlab.ilabt.imec.be/tengu/orcon/test/conformance"
)

// command has this program be job-runner, with its arguments as JSON.
const command = "ORCON_TEST_COMMAND"

// template has this program be the one of conformance.
const template = "ORCON_TEST_TEMPLATE"

func TestMain(m *testing.M) {
	if text := os.Getenv(command); text != "" {
		_ = os.Unsetenv(command)
		if err := json.Unmarshal([]byte(text), &os.Args); err != nil {
			panic(err)
		}
		main()
	}
	if os.Getenv(template) != "" {
		os.Exit(conformance.Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// bench is the jobs API of a world at one address, which can be killed and started again.
type bench struct {
	*servetest.World

	folder, address string

	mutex  sync.Mutex
	server *http.Server
	store  *directory.Store
	// states opens the states of the store, which are encrypted.
	states blob.Store
}

func newBench(t *testing.T) *bench {
	b := &bench{World: &servetest.World{}, folder: t.TempDir(), address: "127.0.0.1:0"}
	key, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(b.folder, "keys"), []byte(key.String()), 0o600))
	require.NoError(t, b.serve())
	t.Cleanup(func() { b.kill() })
	return b
}

// serve starts the server with a store that is opened anew.
func (b *bench) serve() error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	store, err := directory.Open(filepath.Join(b.folder, "blobs"))
	if err != nil {
		return err
	}
	states := &sealed.Store{Store: store, Keys: filepath.Join(b.folder, "keys"), Prefixes: sealed.Prefixes(), Folder: b.folder}
	api := &serve.API{
		Workspaces: b.Workspaces(), Runs: b.Runs(), Renewals: b.World, Callers: b.World, Store: states, Clock: time.Now,
		Limits: serve.Limits{Blob: 8 << 20, State: 8 << 20, Uploads: 4, Folder: b.folder},
	}
	listener, err := net.Listen("tcp", b.address)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	b.address, b.store, b.states, b.server = listener.Addr().String(), store, states, &http.Server{Handler: api.Handler(), ReadHeaderTimeout: time.Minute}
	go func(s *http.Server) { _ = s.Serve(listener) }(b.server)
	return nil
}

// kill ends all connections at once, and takes the store from handlers that still run.
func (b *bench) kill() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	_ = b.server.Close()
	_ = b.store.Close()
}

// pod is one pod of a run: its folders and its processes.
type pod struct {
	*bench

	workspace, run, folder string
}

// newPod admits a Run to its Workspace and returns its pod.
func (b *bench) newPod(t require.TestingT, uid, run string) *pod {
	who := workspace.Run{UID: run, Name: run}
	require.NoError(t, b.Change(uid, func(w workspace.Workspace) (workspace.Workspace, error) {
		w.Name, w.Terms.Timing = "ns/"+uid, job.DefaultTiming()
		return w.Acquire(workspace.Admission{Run: who, Published: w.Last.Fence, Now: time.Now()})
	}))
	b.Add(run, serve.Caller{Workspace: uid, Run: who, Claimant: workspace.Claimant{ID: "pod-" + run, Where: "node"}}, serve.Run{})
	p := &pod{b, uid, run, filepath.Join(b.folder, run)}
	for _, name := range []string{"state", "scratch", "exchange", "work", "logs"} {
		require.NoError(t, os.MkdirAll(filepath.Join(p.folder, name), 0o700))
	}
	require.NoError(t, os.WriteFile(p.path("token"), []byte(run), 0o600))
	return p
}

func (p *pod) path(name string) string { return filepath.Join(p.folder, name) }

func (p *pod) there(name string) bool {
	_, err := os.Stat(p.path(name))
	return err == nil
}

// child is a process of a pod.
type child struct {
	*exec.Cmd

	ended chan struct{}
}

// start starts job-runner; it ends with the context.
func (p *pod) start(ctx context.Context, t require.TestingT, args ...string) *child {
	text, err := json.Marshal(append([]string{"job-runner"}, args...))
	require.NoError(t, err)
	log, err := os.OpenFile(p.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	defer log.Close()
	c := &child{exec.CommandContext(ctx, os.Args[0]), make(chan struct{})}
	c.Env = append(os.Environ(), command+"="+string(text), "STATE="+p.path("state"), "LOGS="+p.path("logs"), "BASE="+p.folder)
	c.Stderr = log
	require.NoError(t, c.Start())
	go func() {
		defer close(c.ended)
		_ = c.Wait()
	}()
	return c
}

// keeper starts the keeper, shim the shim with a shell script.
func (p *pod) keeper(ctx context.Context, t require.TestingT) *child {
	return p.start(ctx, t, "keeper", "--run", p.run, "--place", "pod-"+p.run, "--address", "http://"+p.address, "--token", p.path("token"),
		"--exchange", p.path("exchange"), "--state", p.path("state"), "--logs", p.path("logs"), "--scratch", p.path("scratch"), "--renew", "100ms",
		"--checkpoint", "50ms", "--retry", "20ms", "--timeout", "5s", "--drain", "2s")
}

func (p *pod) shim(ctx context.Context, t require.TestingT, script string) *child {
	return p.start(ctx, t, "shim", "--exchange", p.path("exchange"), "--work", p.path("work"), "--grace", "5s", "--", "/bin/sh", "-c", script)
}

// code waits for the end of a process and returns its exit code: -1 for a signal.
func (c *child) code() int {
	<-c.ended
	return c.ProcessState.ExitCode()
}

// wait waits until a condition is met or the context ends.
func wait(ctx context.Context, met func() bool) error {
	ticks := time.NewTicker(5 * time.Millisecond)
	defer ticks.Stop()
	for !met() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("it does not come about: %w", ctx.Err())
		case <-ticks.C:
		}
	}
	return nil
}
