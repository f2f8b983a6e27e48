package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/agent"
)

// maxSaid is how much of what a handler writes to standard error is told in the
// agent's status, in bytes: its end.
const maxSaid = 1024

// lastWords is how long a handler may take to end when its container does.
const lastWords = 10 * time.Second

// handle runs the executables of a folder, one for each event, until ctx is done.
func handle(ctx context.Context, socket, folder string) {
	runner := agent.Runner{Socket: socket}
	for {
		turn, ok := runner.Next(ctx)
		if !ok {
			return
		}
		done := runHook(ctx, folder, turn)
		if ctx.Err() != nil {
			return // what was not finished is told again
		}
		if err := runner.Done(ctx, done); err != nil {
			glog.Warningf("%s: %v", turn.Hook, err)
		}
	}
}

// runHook runs the executable of an event; an event without one is handled.
func runHook(ctx context.Context, folder string, turn agent.Turn) agent.Done {
	done := agent.Done{Context: turn.Context}
	path := filepath.Join(folder, turn.Hook)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return done
	}
	done.Handled = true
	said := &tail{}
	cmd := exec.CommandContext(ctx, path) //nolint:gosec // what the pod's author has put there
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = lastWords
	cmd.Dir, cmd.Env = folder, environment(turn.Env)
	cmd.Stdout, cmd.Stderr = os.Stdout, io.MultiWriter(os.Stderr, said)
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		done.ExitCode = exit.ExitCode()
	case err != nil:
		done.ExitCode = 126
		glog.Errorf("cannot run %s: %v", path, err)
		_, _ = said.Write([]byte(err.Error()))
	}
	done.Said = said.String()
	return done
}

// environment is the container's own with what the turn says, and the tools where
// a shell finds them.
func environment(turn map[string]string) []string {
	env := append(os.Environ(), "PATH="+filepath.Dir(toolsBinary)+":"+os.Getenv("PATH"))
	for name, value := range turn {
		env = append(env, name+"="+value)
	}
	return env
}

// tail keeps the end of what is written.
type tail struct{ bytes.Buffer }

// Write keeps the last maxSaid bytes.
func (t *tail) Write(p []byte) (int, error) {
	n, err := t.Buffer.Write(p)
	if over := t.Len() - maxSaid; over > 0 {
		t.Next(over)
	}
	return n, err
}

// String is without what is not text.
func (t *tail) String() string { return strings.TrimSpace(strings.ToValidUTF8(t.Buffer.String(), "")) }
