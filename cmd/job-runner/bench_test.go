package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/selftest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/test/conformance/api"
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
		os.Exit(selftest.Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// bench is a jobs API, and the folders of pods.
type bench struct {
	*api.API

	folder string
}

func newBench(t *testing.T) *bench {
	folder := t.TempDir()
	served, err := api.New(folder)
	require.NoError(t, err)
	t.Cleanup(served.Kill)
	return &bench{served, folder}
}

// pod is one pod of a run: its folders and its processes.
type pod struct {
	*bench

	workspace, run, folder string
}

// newPod admits a Run to its Workspace and returns its pod.
func (b *bench) newPod(t require.TestingT, uid, run string) *pod {
	require.NoError(t, b.Admit(uid, run, "pod-"+run, job.DefaultTiming(), serve.Run{}))
	p, err := b.folders(uid, run)
	require.NoError(t, err)
	return p
}

// folders makes the folders of a pod.
func (b *bench) folders(uid, run string) (*pod, error) {
	p := &pod{b, uid, run, filepath.Join(b.folder, run)}
	for _, name := range []string{"state", "scratch", "exchange", "work", "logs"} {
		if err := os.MkdirAll(filepath.Join(p.folder, name), 0o700); err != nil {
			return nil, err
		}
	}
	return p, os.WriteFile(p.path("token"), []byte(run), 0o600)
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
	return p.startWith(ctx, t, nil, args...)
}

// startWith starts a part with variables.
func (p *pod) startWith(ctx context.Context, t require.TestingT, environment []string, args ...string) *child {
	text, err := json.Marshal(append([]string{"job-runner"}, args...))
	require.NoError(t, err)
	log, err := os.OpenFile(p.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	defer log.Close()
	c := &child{exec.CommandContext(ctx, os.Args[0]), make(chan struct{})}
	c.Env = append(append(os.Environ(), environment...), command+"="+string(text), "STATE="+p.path("state"), "LOGS="+p.path("logs"), "BASE="+p.folder)
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
	return p.start(ctx, t, "keeper", "--run", p.run, "--place", "pod-"+p.run, "--address", "http://"+p.Address, "--token", p.path("token"),
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
