package component

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/state"
)

const (
	// stopTimeout bounds how long a component may take to end when asked to.
	stopTimeout = 30 * time.Second
	// healthInterval is how often a starting component is looked at.
	healthInterval = 50 * time.Millisecond
	// restartDelay is how long a component that gave up stays down.
	restartDelay = time.Second
)

// ErrUnknown says that the cluster has no component of that name.
var ErrUnknown = errors.New("no such component")

// ErrRunning says that a component to be started already runs.
var ErrRunning = errors.New("it already runs")

// errEnded says that a component ended while it was waited for.
var errEnded = errors.New("it ended")

// Group is the set of components of one cluster.
type Group struct {
	dir     state.Dir
	changed func(map[string]state.Process)

	mu       sync.Mutex
	launcher *Launcher
	members  map[string]*member
	keep     bool
}

type member struct {
	spec Spec
	// launcher has it start on the same node again.
	launcher *Launcher
	process  state.Process
	exit     string
	done     chan struct{}
	// down is set when somebody asked for its end.
	down bool
}

// Status is what is known of one component.
type Status struct {
	Name string `json:"name"`
	// PID is zero while the component does not run.
	PID int `json:"pid"`
	// Exit says how it ended, empty while it runs.
	Exit string `json:"exit,omitempty"`
}

// NewGroup makes an empty group that tells changed about every start and end.
func NewGroup(dir state.Dir, changed func(map[string]state.Process)) *Group {
	return &Group{dir: dir, changed: changed, members: map[string]*member{}}
}

// SetLauncher says through which launcher components start that are added later.
func (g *Group) SetLauncher(l *Launcher) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.launcher = l
}

// KeepRunning makes later failures be repaired: a component that gives up, with
// an exit code that is not zero, is started again, as the node of a real
// cluster would. One that was stopped, or killed by anybody, stays down.
func (g *Group) KeepRunning() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.keep = true
}

// Add starts components at once, without waiting for any to be healthy.
func (g *Group) Add(specs ...Spec) error {
	for _, spec := range specs {
		g.mu.Lock()
		g.members[spec.Name] = &member{spec: spec, launcher: g.launcher, done: closed()}
		g.mu.Unlock()
		if err := g.launch(spec.Name); err != nil {
			return err
		}
	}
	return nil
}

// Start runs a component again and waits until it is healthy.
func (g *Group) Start(ctx context.Context, name string) error {
	if err := g.launch(name); err != nil {
		return err
	}
	return g.WaitHealthy(ctx, name)
}

// Signal sends a signal to a component and waits until it has ended.
func (g *Group) Signal(ctx context.Context, name string, signal syscall.Signal) error {
	m, err := g.member(name)
	if err != nil {
		return err
	}
	g.mu.Lock()
	m.down = true
	process, done := m.process, m.done
	g.mu.Unlock()
	if err := process.Signal(signal); err != nil {
		return fmt.Errorf("cannot end %s: %w", name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("cannot end %s by signal %d within %s; kill it", name, signal, stopTimeout)
	}
}

// KillAll ends every component at once and waits until all have ended.
func (g *Group) KillAll(ctx context.Context) error {
	var failed []error
	for _, status := range g.Status() {
		failed = append(failed, g.Signal(ctx, status.Name, syscall.SIGKILL))
	}
	return errors.Join(failed...)
}

// WaitHealthy waits until each named component is healthy. It fails at once if
// one has ended, with the end of its log.
func (g *Group) WaitHealthy(ctx context.Context, names ...string) error {
	for _, name := range names {
		m, err := g.member(name)
		if err != nil {
			return err
		}
		if err := g.waitMember(ctx, m); err != nil {
			return fmt.Errorf("cannot get %s healthy: %w\n%s", name, err, Tail(g.dir.Log(name)))
		}
	}
	return nil
}

// Status returns all components by name.
func (g *Group) Status() []Status {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := make([]Status, 0, len(g.members))
	for _, name := range slices.Sorted(maps.Keys(g.members)) {
		m := g.members[name]
		all = append(all, Status{Name: name, PID: m.process.PID, Exit: m.exit})
	}
	return all
}

func (g *Group) member(name string) (*member, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	m, ok := g.members[name]
	if !ok {
		known := slices.Sorted(maps.Keys(g.members))
		return nil, fmt.Errorf("cannot find %q among %v: %w", name, known, ErrUnknown)
	}
	return m, nil
}

func (g *Group) waitMember(ctx context.Context, m *member) error {
	g.mu.Lock()
	done := m.done
	g.mu.Unlock()
	for {
		err := m.spec.Healthy(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-done:
			return fmt.Errorf("%w: %s", errEnded, m.exit)
		case <-ctx.Done():
			return fmt.Errorf("%w; last answer: %w", context.Cause(ctx), err)
		case <-time.After(healthInterval):
		}
	}
}

// launch starts the process and watches for its end.
func (g *Group) launch(name string) error {
	m, err := g.member(name)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	m.down = false
	return g.launchLocked(m)
}

// relaunch starts a component that gave up, unless somebody was faster.
func (g *Group) relaunch(m *member) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !m.down && m.process.PID == 0 {
		_ = g.launchLocked(m)
	}
}

func (g *Group) launchLocked(m *member) error {
	name := m.spec.Name
	if m.process.PID != 0 {
		return fmt.Errorf("cannot start %s: %w", name, ErrRunning)
	}
	command, err := g.command(m)
	if err != nil {
		return err
	}
	if err := m.launcher.Start(command); err != nil {
		return fmt.Errorf("cannot start %s: %w", name, err)
	}
	m.process, err = state.FindProcess(command.Process.Pid)
	if err != nil {
		m.process = state.Process{PID: command.Process.Pid}
	}
	m.exit, m.done = "", make(chan struct{})
	g.tell()
	go g.watch(m, command)
	return nil
}

// command prepares a component's process: a session of its own, so that a
// terminal's interrupt ends the supervisor alone, and death with it.
func (g *Group) command(m *member) (*exec.Cmd, error) {
	spec := m.spec
	log, err := os.OpenFile(g.dir.Log(spec.Name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open log of %s: %w", spec.Name, err)
	}
	command := exec.Command(spec.Command[0], spec.Command[1:]...)
	command.Env = append(os.Environ(), spec.Environment...)
	if procs := os.Getenv(EnvProcs); procs != "" {
		command.Env = append(command.Env, "GOMAXPROCS="+procs)
	}
	command.Dir = string(g.dir)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: m.launcher.deathSignal}
	return command, nil
}

func (g *Group) watch(m *member, command *exec.Cmd) {
	_ = command.Wait()
	if log, ok := command.Stdout.(*os.File); ok {
		_ = log.Close()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	m.process, m.exit = state.Process{}, command.ProcessState.String()
	close(m.done)
	g.tell()
	// ExitCode is negative for a process that a signal ended.
	if g.keep && !m.down && command.ProcessState.ExitCode() > 0 {
		time.AfterFunc(restartDelay, func() { g.relaunch(m) })
	}
}

// tell reports the running components; its caller holds the lock.
func (g *Group) tell() {
	running := map[string]state.Process{}
	for name, m := range g.members {
		if m.process.PID != 0 {
			running[name] = m.process
		}
	}
	g.changed(running)
}

func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}
