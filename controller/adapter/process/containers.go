package process

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// Containers are those that have the pod's bindings, each by its main process:
// the one that the container runtime started first in it.
//
// A container is known by its mounts, which any user may read, and not by its
// name, which no process shows: it has the volume of the bindings, read-only, where
// the agent has it to write.
type Containers struct {
	// Proc is the folder of the processes: /proc.
	Proc string
	// Bindings is where the agent itself has the volume.
	Bindings string
	// Kill sends a signal: syscall.Kill.
	Kill func(pid int, signal syscall.Signal) error
}

// ErrSignal is for an unknown signal.
var ErrSignal = errors.New("no such signal")

// Signal sends a signal, by its name without SIG, to the main process of each
// container. It returns how many it has reached; an error is about those that it has
// not. A process that ends meanwhile is none.
func (c Containers) Signal(name string) (reached int, err error) {
	number, known := signals()[name]
	if !known {
		return 0, fmt.Errorf("cannot signal: %w: %q", ErrSignal, name)
	}
	pids, err := c.mains()
	if err != nil {
		return 0, err
	}
	var failed []error
	for _, pid := range pids {
		switch err := c.Kill(pid, number); {
		case err == nil:
			reached++
		case !errors.Is(err, syscall.ESRCH):
			failed = append(failed, fmt.Errorf("cannot send %s to process %d: %w", name, pid, err))
		}
	}
	return reached, errors.Join(failed...)
}

func signals() map[string]syscall.Signal {
	return map[string]syscall.Signal{
		"ALRM": syscall.SIGALRM, "CONT": syscall.SIGCONT, "HUP": syscall.SIGHUP, "INT": syscall.SIGINT, "QUIT": syscall.SIGQUIT,
		"TERM": syscall.SIGTERM, "USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2, "WINCH": syscall.SIGWINCH,
	}
}

// mains returns the main process of each container that has the bindings, in order.
func (c Containers) mains() ([]int, error) {
	own, err := os.ReadFile(filepath.Join(c.Proc, "self", "mountinfo"))
	if err != nil {
		return nil, fmt.Errorf("cannot find the pod's containers: %w", err)
	}
	volume, found := mountAt(own, c.Bindings)
	if !found {
		return nil, fmt.Errorf("cannot find the pod's containers: nothing is mounted at %s: %w", c.Bindings, fs.ErrNotExist)
	}
	entries, err := os.ReadDir(c.Proc)
	if err != nil {
		return nil, fmt.Errorf("cannot find the pod's containers: %w", err)
	}
	first := map[string]candidate{} // by its container's mount of the volume
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if mount, p, ok := c.look(pid, volume.device); ok && (first[mount].pid == 0 || p.started < first[mount].started) {
			first[mount] = p
		}
	}
	var pids []int
	for p := range maps.Values(first) {
		pids = append(pids, p.pid)
	}
	slices.Sort(pids)
	return pids, nil
}

// candidate is a process that the container runtime has started, with what a
// container runs or with what was executed in it later.
type candidate struct {
	pid     int
	started uint64 // in ticks since the machine has
}

// look returns a candidate and the mount by which its container is known. One that
// has ended meanwhile is none.
func (c Containers) look(pid int, device string) (mount string, found candidate, ok bool) {
	folder := filepath.Join(c.Proc, strconv.Itoa(pid))
	stat, err := os.ReadFile(filepath.Join(folder, "stat")) //nolint:gosec // of the kernel
	if err != nil {
		return "", candidate{}, false
	}
	parent, started, ok := parseStat(string(stat))
	if !ok || parent != 0 { // the runtime itself is outside of the pod
		return "", candidate{}, false
	}
	mounts, err := os.ReadFile(filepath.Join(folder, "mountinfo")) //nolint:gosec // of the kernel
	if err != nil {
		return "", candidate{}, false
	}
	m, ok := mountOf(mounts, device)
	return m.id, candidate{pid, started}, ok && m.readOnly
}
