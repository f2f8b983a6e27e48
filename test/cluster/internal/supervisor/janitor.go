package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/state"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/teardown"
)

// JanitorCommand is the hidden subcommand that the janitor runs as.
const JanitorCommand = "janitor"

// janitor is a process that ends the cluster if the supervisor dies without
// having done so, be it by SIGKILL. It learns of the death from a pipe whose
// other end only the supervisor holds.
type janitor struct {
	command *exec.Cmd
	pipe    io.Closer
}

func startJanitor(r state.Record) (*janitor, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot start janitor: %w", err)
	}
	command := exec.Command(self, JanitorCommand, string(r.Dir), fmt.Sprint(r.Supervisor.PID))
	command.Dir = "/"
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	pipe, err := command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("cannot start janitor: %w", err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("cannot start janitor: %w", err)
	}
	return &janitor{command: command, pipe: pipe}, nil
}

// dismiss lets the janitor see that nothing is left, and waits for its end.
func (j *janitor) dismiss() {
	if j == nil {
		return
	}
	_ = j.pipe.Close()
	_ = j.command.Wait()
}

// KeepJanitor waits for the end of death and then ends the cluster of that
// supervisor, but never a later one in the same folder.
func KeepJanitor(ctx context.Context, d state.Dir, supervisor int, death io.Reader) error {
	_, _ = io.Copy(io.Discard, death)
	r, err := state.Load(d)
	if errors.Is(err, state.ErrNoCluster) {
		return nil
	}
	if err != nil {
		return err
	}
	if r.Supervisor.PID != supervisor {
		return nil
	}
	return teardown.End(ctx, d)
}

func findSelf() (state.Process, error) { return state.FindProcess(os.Getpid()) }
