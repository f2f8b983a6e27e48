package docker_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/dockerjob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/jobsapi"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/selftest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/test/conformance/api"
	"gitlab.ilabt.imec.be/tengu/orcon/test/docker"
)

const (
	image   = "localhost/orcon/conformance:dev"
	program = "/conformance"
	node    = "appliance"
)

// patience is how long a test waits on a loaded machine for what must come about.
const patience = 3 * time.Minute

// world is a jobs API and an agent with an engine.
type world struct {
	*api.API
	*dockerjob.Engine

	t      *testing.T
	folder string
	docker *client.Client
	// leave ends the agent without an end of its runs.
	leave func()
	runs  atomic.Int64
}

func newWorld(t *testing.T) *world {
	served, err := api.New(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(served.Kill)
	folder, err := os.MkdirTemp("", "w") //nolint:usetesting // a socket's path is short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	w := &world{API: served, t: t, folder: folder, docker: engine(t)}
	in, err := os.Open(filepath.Join(docker.Folder(), imageName))
	require.NoError(t, err)
	defer in.Close()
	loaded, err := w.docker.ImageLoad(t.Context(), in)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, loaded)
	require.NoError(t, errors.Join(err, loaded.Close()))
	w.enter()
	t.Cleanup(func() { w.leave() })
	return w
}

// engine returns a client of the engine.
func engine(t *testing.T) *client.Client {
	c, err := client.New(client.WithHost("unix://" + docker.Socket()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// enter has an agent adopt what the folder has.
func (w *world) enter() {
	ctx, end := context.WithCancel(context.Background())
	e, err := dockerjob.Open(ctx, settings(w.docker, w.folder, w.Address))
	require.NoError(w.t, err)
	w.Engine, w.leave = e, func() {
		end()
		e.Wait()
	}
}

// settings returns those of an agent whose keepers call the jobs API at an address.
func settings(c *client.Client, folder, address string) dockerjob.Settings {
	return dockerjob.Settings{
		Client: c, Folder: folder, Program: filepath.Join(docker.Folder(), programName), Node: node, Limits: dockerjob.DefaultLimits(),
		Keep: func(ctx context.Context, a executor.Attempt, f dockerjob.Mounts, terminate <-chan struct{}) error {
			token := filepath.Join(f.Scratch(), "token")
			if err := os.WriteFile(token, []byte(a.UID), 0o600); err != nil {
				return err
			}
			calls := &jobsapi.Client{
				HTTP: http.DefaultClient, Address: "http://" + address, Run: a.UID, TokenFile: token, Timeout: 30 * time.Second, Clock: keeper.BootTime,
			}
			one := keeper.Keeper{
				Ledger: calls, Blobs: calls, Chunks: calls, Exchange: f.Exchange(), Clock: keeper.BootTime, Terminate: terminate,
				Claimant: keeper.Claimant{Run: a.UID, Attempt: a.Number, Place: node},
				Settings: keeper.Settings{
					State: f.State(), Logs: f.Logs(), Scratch: f.Scratch(), Limit: 64 << 20, Renew: 200 * time.Millisecond,
					Checkpoint: time.Second, Drain: 10 * time.Second, Retry: time.Second, Backend: dockerjob.Backend, Forwarded: true,
				},
			}
			return one.Run(ctx)
		},
	}
}

// attempt returns the first attempt of a Run, which is admitted.
func (w *world) attempt(o selftest.Exercise) executor.Attempt {
	number := w.runs.Add(1)
	a := executor.Attempt{
		Name:      executor.Name{Namespace: "ns", Run: fmt.Sprint("run-", number), UID: fmt.Sprintf("%s-%d", filepath.Base(w.folder), number), Number: 1},
		Workspace: fmt.Sprint("w", number), Fence: 1, Timing: job.Timing{Lost: time.Minute, Grace: selftest.Grace},
		Input: run.Input{Action: "check", Artifact: run.Artifact{Image: image}, Entrypoint: []string{cmp.Or(o.Program, program)}, Args: o.Args},
	}
	require.NoError(w.t, w.Admit(a.Workspace, a.UID, node, a.Timing, serve.Run{
		Parameters: selftest.Parameters,
	}))
	return a
}

// container returns the name of a container.
func container(n executor.Name) string { return fmt.Sprintf("orcon-%s-%d", n.UID, n.Number) }

// inflict does a fault to a run.
func (w *world) inflict(ctx context.Context, f selftest.Fault, a executor.Attempt) error {
	folder := dockerjob.Mounts(filepath.Join(w.folder, fmt.Sprintf("%s.%d", a.UID, a.Number)))
	return w.Inflict(ctx, f, api.Container{
		Run: a.UID, State: folder.State(), Exchange: folder.Exchange(),
		Kill: func() error {
			_, err := w.docker.ContainerKill(ctx, container(a.Name), client.ContainerKillOptions{Signal: "SIGKILL"})
			return err
		},
	})
}

// over waits until an attempt is over, and removes it.
func (w *world) over(ctx context.Context, n executor.Name) error {
	var problem error
	err := api.Wait(ctx, func() bool {
		s, err := w.Look(ctx, n)
		problem = err
		return err != nil || s.Over
	})
	if err = cmp.Or(problem, err); err != nil {
		s, _ := w.Look(context.WithoutCancel(ctx), n)
		return fmt.Errorf("%s does not end: %w: %+v", n.Run, err, s)
	}
	if err := w.Remove(ctx, n); err != nil {
		return err
	}
	return api.Wait(ctx, func() bool {
		s, err := w.Look(ctx, n)
		return err == nil && s == executor.Sight{}
	})
}

// Run implements selftest.Conductor.
func (w *world) Run(ctx context.Context, o selftest.Exercise) (selftest.Result, error) {
	ctx, end := context.WithTimeout(ctx, patience)
	defer end()
	a := w.attempt(o)
	if err := w.Start(ctx, a); err != nil {
		return selftest.Result{}, err
	}
	if err := w.inflict(ctx, o.Fault, a); err != nil {
		return selftest.Result{}, err
	}
	if err := w.over(ctx, a.Name); err != nil {
		return selftest.Result{}, err
	}
	return w.Result(ctx, a.Workspace)
}

// agentVariable has this program be an agent that starts a run.
const agentVariable = "ORCON_TEST_AGENT"

// agent describes what an agent does.
type agent struct {
	Folder, Address string
	Attempt         executor.Attempt
}

// beAgent starts a run and does nothing else until it is killed.
func beAgent() {
	var a agent
	err := json.Unmarshal([]byte(os.Getenv(agentVariable)), &a)
	var c *client.Client
	if err == nil {
		c, err = client.New(client.WithHost("unix://" + docker.Socket()))
	}
	var e *dockerjob.Engine
	if err == nil {
		e, err = dockerjob.Open(context.Background(), settings(c, a.Folder, a.Address))
	}
	if err == nil {
		err = e.Start(context.Background(), a.Attempt)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {}
}

// startAgent has an agent of its own start a run.
func (w *world) startAgent(a executor.Attempt) *exec.Cmd {
	text, err := json.Marshal(agent{w.folder, w.Address, a})
	require.NoError(w.t, err)
	c := exec.CommandContext(w.t.Context(), "/proc/self/exe")
	c.Env = append(os.Environ(), agentVariable+"="+string(text))
	c.Stderr = os.Stderr
	require.NoError(w.t, c.Start())
	return c
}
