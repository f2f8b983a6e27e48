package namespace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/component"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/state"
)

const (
	// InitCommand is the hidden subcommand that process 1 runs as.
	InitCommand = "init"
	// settled is the line by which process 1 says that all is mounted.
	settled = "settled"
)

// errInit says that process 1 could not set the namespaces up.
var errInit = errors.New("process 1 failed")

// Start makes the namespaces of a node and returns their process 1. It
// dies with this process.
func Start(d state.Dir, host string) (state.Process, error) {
	launcher, err := component.NewLauncher()
	if err != nil {
		return state.Process{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return state.Process{}, fmt.Errorf("cannot find own program: %w", err)
	}
	command := exec.Command(self, InitCommand, string(d), host)
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: cloneFlags, Pdeathsig: syscall.SIGKILL}
	out, err := command.StdoutPipe()
	if err != nil {
		return state.Process{}, fmt.Errorf("cannot make namespaces: %w", err)
	}
	command.Stderr = command.Stdout
	if err := launcher.Start(command); err != nil {
		return state.Process{}, fmt.Errorf("cannot make namespaces: %w (they need root)", err)
	}
	process, err := state.FindProcess(command.Process.Pid)
	if err != nil {
		return state.Process{}, err
	}
	if err := waitSettled(out); err != nil {
		_ = command.Process.Kill()
		_ = command.Wait()
		return state.Process{}, err
	}
	go func() { _ = command.Wait() }()
	return process, nil
}

// waitSettled reads until process 1 reports, or returns what it said instead.
func waitSettled(out io.Reader) error {
	said := []string{}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if lines.Text() == settled {
			return nil
		}
		said = append(said, lines.Text())
	}
	return fmt.Errorf("cannot make namespaces: %w: %s", errInit, strings.Join(said, "; "))
}
