package component

import (
	"os/exec"
	"runtime"
	"syscall"
)

// Launcher starts processes from one operating-system thread that lives as
// long as this process. Two kernel rules demand it: a parent-death signal is
// sent when the starting thread ends, and a child inherits the namespaces of
// the starting thread.
type Launcher struct {
	work chan func()
	// deathSignal is sent to a component when the supervisor dies.
	deathSignal syscall.Signal
}

// NewLauncher makes a launcher in this process's own namespaces. What it
// starts is killed when this process dies.
func NewLauncher() (*Launcher, error) {
	return newLauncher(func() error { return nil }, syscall.SIGKILL)
}

// NewLauncherIn makes a launcher whose thread has called enter, which moves
// the thread to other namespaces; no other code ever runs on that thread. What
// it starts ends with process 1 of those namespaces: a death signal cannot be
// set, since os/exec compares process ids, which differ between namespaces.
func NewLauncherIn(enter func() error) (*Launcher, error) {
	return newLauncher(enter, 0)
}

func newLauncher(enter func() error, deathSignal syscall.Signal) (*Launcher, error) {
	l := &Launcher{work: make(chan func()), deathSignal: deathSignal}
	entered := make(chan error)
	go l.serve(enter, entered)
	if err := <-entered; err != nil {
		return nil, err
	}
	return l, nil
}

// Start is exec.Cmd.Start on the launcher's thread.
func (l *Launcher) Start(command *exec.Cmd) error {
	return l.Do(command.Start)
}

// Do runs f on the launcher's thread; f must be short.
func (l *Launcher) Do(f func() error) error {
	result := make(chan error)
	l.work <- func() { result <- f() }
	return <-result
}

// serve never unlocks its thread: the runtime then ends the thread rather than
// use it again in the wrong namespaces.
func (l *Launcher) serve(enter func() error, entered chan<- error) {
	runtime.LockOSThread()
	if err := enter(); err != nil {
		entered <- err
		return
	}
	entered <- nil
	for f := range l.work {
		f()
	}
}
