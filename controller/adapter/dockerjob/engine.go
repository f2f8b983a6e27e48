package dockerjob

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/moby/moby/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// Settings are those of an Engine.
type Settings struct {
	// Client calls the engine.
	Client *client.Client
	// Folder holds the folders of the attempts, Program is job-runner, Secrets is a folder in memory for secrets ("" where
	// no attempt has some): all by their paths on the engine's machine.
	Folder, Program, Secrets string
	// Node is the name by which attempts are claimed.
	Node   string
	Limits Limits
	// Keep runs the keeper of an attempt until its end is recorded and its outcome is in the exchange folder, or the
	// context ends. It is called again for an attempt that has no outcome. Terminate is closed when the attempt is to end.
	Keep func(ctx context.Context, a executor.Attempt, f Mounts, terminate <-chan struct{}) error
}

// Limits bound each container. The keeper bounds its state.
type Limits struct {
	// Memory is in bytes, Processes is a number of threads; 0 for no limit.
	Memory, Processes int64
}

// DefaultLimits returns 2 GiB of memory and 4096 threads.
func DefaultLimits() Limits { return Limits{Memory: 2 << 30, Processes: 4096} }

// Engine implements executor.Executor.
type Engine struct {
	Settings

	// context is the tasks' context. They outlive the calls that begin them.
	context context.Context
	running sync.WaitGroup
	mutex   sync.Mutex
	tasks   map[executor.Name]*task
}

var _ executor.Executor = (*Engine)(nil)

// longestFolder leaves room for the paths of sockets, which the kernel limits to 107 bytes.
const longestFolder = 44

// Open returns an Engine that has adopted what its folder has. Its tasks end with the context, without an end of their
// attempts; Wait waits for that.
func Open(ctx context.Context, s Settings) (*Engine, error) {
	if s.Client == nil || s.Keep == nil || s.Node == "" || !filepath.IsAbs(s.Folder) || !filepath.IsAbs(s.Program) {
		return nil, errors.New("cannot carry out runs by containers: set Client, Keep, Node, and absolute paths for Folder and Program")
	}
	if len(s.Folder) > longestFolder {
		return nil, fmt.Errorf("cannot carry out runs by containers: the path %s has more than %d bytes, which sockets below it cannot have: "+
			"choose a shorter one", s.Folder, longestFolder)
	}
	e := &Engine{Settings: s, context: ctx, tasks: map[executor.Name]*task{}}
	entries, err := os.ReadDir(s.Folder)
	if err != nil {
		return nil, fmt.Errorf("cannot adopt runs: %w", err)
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	for _, one := range entries {
		f := Mounts(filepath.Join(s.Folder, one.Name()))
		a, err := f.attempt()
		if err != nil {
			return nil, fmt.Errorf("cannot adopt what %s has: %w", f, err)
		}
		if a != nil {
			e.begin(f, *a)
		}
	}
	return e, nil
}

// Wait waits until no task is left, which comes about after the end of the context.
func (e *Engine) Wait() { e.running.Wait() }

// folder returns the folder of an attempt.
func (e *Engine) folder(n executor.Name) Mounts {
	return Mounts(filepath.Join(e.Folder, n.UID+"."+strconv.Itoa(n.Number)))
}

// begin starts the task of an attempt, if there is none.
func (e *Engine) begin(f Mounts, a executor.Attempt) {
	if e.tasks[a.Name] != nil {
		return
	}
	t := &task{engine: e, folder: f, attempt: a, terminate: make(chan struct{})}
	if f.there(removedName) {
		t.removed = true
		close(t.terminate)
	}
	e.tasks[a.Name] = t
	e.running.Go(func() { t.carry(e.context) })
}

// errNoMemory is the error of a machine that has no place for secrets.
var errNoMemory = errors.New("it has secrets, and there is no folder in memory for them: set Secrets to an absolute path")

// Start implements executor.Executor. The image is pulled, and the container made, in the background.
func (e *Engine) Start(_ context.Context, a executor.Attempt) error {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	f := e.folder(a.Name)
	if len(a.Input.Secrets) > 0 && !filepath.IsAbs(e.Secrets) {
		return cannot("start", a.Name, errNoMemory)
	}
	if err := f.begin(a, e.Secrets); err != nil {
		return cannot("start", a.Name, err)
	}
	e.begin(f, a)
	return nil
}

// Look implements executor.Executor.
func (e *Engine) Look(_ context.Context, n executor.Name) (executor.Sight, error) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	t := e.tasks[n]
	if t == nil {
		return executor.Sight{}, nil
	}
	ended, err := exchange.Reported(t.folder.Exchange())
	if err != nil {
		return executor.Sight{}, cannot("look at", n, err)
	}
	over := t.folder.there(overName)
	return executor.Sight{
		Pod:      run.Pod{Made: true, Obstacle: t.obstacle(), Stopped: ended && !over, Where: e.Node},
		Claimant: e.Node, Over: over,
	}, nil
}

// Remove implements executor.Executor. Container and folder go when the process has ended and its state is stored.
func (e *Engine) Remove(_ context.Context, n executor.Name) error {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	t := e.tasks[n]
	if t == nil || t.removed { // the mark goes before the folder does
		return nil
	}
	if err := t.folder.mark(removedName); err != nil {
		return cannot("remove", n, err)
	}
	t.removed = true
	close(t.terminate)
	return nil
}

// forget ends a task whose folder has gone.
func (e *Engine) forget(n executor.Name) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	delete(e.tasks, n)
}

// cannot adds the attempt to an error.
func cannot(verb string, n executor.Name, err error) error {
	return fmt.Errorf("cannot %s attempt %d of Run %s/%s: %w", verb, n.Number, n.Namespace, n.Run, err)
}
