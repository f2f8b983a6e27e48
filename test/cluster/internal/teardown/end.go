// Package teardown ends a cluster from its record alone, so that the
// supervisor, the janitor and `cluster down` all do the same, and so that it
// works after a crash. Ending a cluster twice, or at the same time from two
// processes, does no harm.
//
// Asking a process to end in good order must not come in: nothing a test
// cluster holds is kept.
package teardown

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/state"
)

const (
	// timeout bounds each step: a process that the kernel cannot end within it
	// hangs in the kernel. On a loaded machine a killed process needs a while to end.
	timeout = time.Minute
	poll    = 10 * time.Millisecond
)

// ErrRemains says that something of the cluster could not be ended.
var ErrRemains = errors.New("still there")

// End ends all processes of a cluster, then removes its cable, cgroups, mounts
// and folder. It goes on after a step that failed and returns all failures.
func End(ctx context.Context, d state.Dir) error {
	lock, err := lockDir(d)
	if errors.Is(err, state.ErrNoCluster) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	r, err := state.Load(d)
	if errors.Is(err, state.ErrNoCluster) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(
		killAll(ctx, r),
		removeLink(d),
		removeCgroups(ctx, r),
		unmount(d),
		removeDir(ctx, d),
	)
}

// lockDir waits until no other process ends this cluster.
func lockDir(d state.Dir) (*os.File, error) {
	if err := d.CheckOwner(); err != nil {
		return nil, err
	}
	lock, err := os.Open(string(d))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("cannot lock %s: %w", d, state.ErrNoCluster)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot lock cluster folder: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("cannot lock cluster folder: %w", err)
	}
	return lock, nil
}

// killAll ends the components and process 1 of the namespaces of each node,
// with which the kernel ends containers, shims, mounts and network.
func killAll(ctx context.Context, r state.Record) error {
	processes := slices.Clone(r.Nodes)
	for _, process := range r.Components {
		processes = append(processes, process)
	}
	var failed []error
	for _, process := range processes {
		failed = append(failed, process.Signal(syscall.SIGKILL))
	}
	for _, process := range processes {
		failed = append(failed, waitDead(ctx, process))
	}
	return errors.Join(failed...)
}

func waitDead(ctx context.Context, process state.Process) error {
	return eventually(ctx, fmt.Sprintf("process %d", process.PID), func() bool { return !process.Alive() })
}

// eventually polls until gone says so.
func eventually(ctx context.Context, thing string, gone func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for !gone() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("cannot end %s: %w", thing, ErrRemains)
		case <-time.After(poll):
		}
	}
	return nil
}

// removeDir removes the folder, again if a program that is about to end adds a file meanwhile.
func removeDir(ctx context.Context, d state.Dir) error {
	var err error
	waited := eventually(ctx, "the files of "+string(d), func() bool {
		err = os.RemoveAll(string(d))
		return !errors.Is(err, syscall.ENOTEMPTY)
	})
	if err != nil {
		return fmt.Errorf("cannot remove cluster folder: %w", errors.Join(err, waited))
	}
	return nil
}
