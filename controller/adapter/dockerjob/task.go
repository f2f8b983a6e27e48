package dockerjob

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/golang/glog"
	"github.com/moby/moby/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/retry"
)

// task carries one attempt.
type task struct {
	engine  *Engine
	folder  Mounts
	attempt executor.Attempt
	// terminate is closed when the attempt is removed.
	terminate chan struct{}
	// removed reports that terminate is closed; the engine's mutex guards it.
	removed bool

	mutex sync.Mutex
	// trouble is why the container does not start.
	trouble error
}

// longest is the longest pause before a step is repeated that failed.
const longest = 30 * time.Second

// settle is how long a container may take to end when it has an outcome.
const settle = 10 * time.Second

// carry brings the attempt to its end, and container and folder to theirs when it is removed.
func (t *task) carry(ctx context.Context) {
	if !t.folder.there(overName) {
		if t.repeat(ctx, t.terminate, "start", t.start) {
			t.repeat(ctx, nil, "keep", t.keep)
			t.repeat(ctx, nil, "end", t.end)
		}
		t.repeat(ctx, nil, "end", func(context.Context) error {
			if err := wipe(t.folder); err != nil {
				return err
			}
			return t.folder.mark(overName)
		})
	}
	select {
	case <-ctx.Done():
		return
	case <-t.terminate:
	}
	if t.repeat(ctx, nil, "remove", t.remove) {
		t.engine.forget(t.attempt.Name)
	}
}

// repeat repeats a step until it succeeds, and reports whether it did. It ends with the context, and when the attempt is
// given up.
func (t *task) repeat(ctx context.Context, givenUp <-chan struct{}, verb string, step func(context.Context) error) bool {
	var told retry.Log
	for failed := 1; ctx.Err() == nil; failed++ {
		err := step(ctx)
		t.note(err)
		if err == nil {
			return true
		}
		var logged bool
		if told, logged = told.Failed(err.Error(), time.Now()); logged && ctx.Err() == nil {
			glog.Warning(cannot(verb, t.attempt.Name, err))
		}
		select {
		case <-ctx.Done():
		case <-givenUp:
			return false
		case <-time.After(min(retry.After(failed), longest)):
		}
	}
	return false
}

func (t *task) note(err error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.trouble = err
}

// obstacle tells why the container does not start, or does not end; "" for no reason.
func (t *task) obstacle() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.trouble == nil {
		return ""
	}
	return t.trouble.Error()
}

// start makes and starts the container. One whose keeper let the program start is never started again: time has passed
// since the claim (JOBS-DESIGN.md 3).
func (t *task) start(ctx context.Context) error {
	if err := lease(t.folder); err != nil {
		return err
	}
	let, err := exchange.Permitted(t.folder.Exchange())
	if err != nil || let {
		return err
	}
	running, err := t.running(ctx, name(t.attempt.Name))
	if errdefs.IsNotFound(err) {
		err = t.create(ctx)
	}
	if err != nil || running {
		return err
	}
	if _, err = t.engine.Client.ContainerStart(ctx, name(t.attempt.Name), client.ContainerStartOptions{}); err != nil {
		return errors.Join(fmt.Errorf("the engine cannot start its container: %w", err), t.discardUnstarted(ctx))
	}
	return nil
}

// discardUnstarted removes a container that could not be started, so that the next try makes another one. A daemon that was
// killed while it started a container may refuse to start it for ever: "task …: already exists".
func (t *task) discardUnstarted(ctx context.Context) error {
	running, err := t.running(ctx, name(t.attempt.Name))
	if err == nil && !running {
		err = t.discard(ctx, name(t.attempt.Name))
	}
	return ended(err)
}

// errForeign is the error of a container that is another's.
var errForeign = errors.New("belongs to something else")

// running reports whether a container runs. One of its name that is another's is an error.
func (t *task) running(ctx context.Context, name string) (bool, error) {
	found, err := t.engine.Client.ContainerInspect(ctx, name, client.ContainerInspectOptions{})
	if err != nil {
		return false, err
	}
	c := found.Container
	if c.Config == nil || c.State == nil || c.Config.Labels[labelUID] != t.attempt.UID {
		return false, fmt.Errorf("its container %s %w: remove that", name, errForeign)
	}
	return c.State.Running, nil
}

// create makes the container, of an image whose content is in the folder.
func (t *task) create(ctx context.Context) error {
	if err := (copying{t}).unpack(ctx); err != nil {
		return err
	}
	_, err := t.engine.Client.ContainerCreate(ctx, build(t.attempt, t.folder, t.engine.Program, t.engine.Limits))
	if err != nil {
		return elsewhere(fmt.Errorf("the engine cannot make its container: %w", err))
	}
	return nil
}

// elsewhere adds the cure to an error of an engine that does not have the folders of this agent.
func elsewhere(err error) error {
	if !strings.Contains(err.Error(), "bind source path does not exist") {
		return err
	}
	return fmt.Errorf("%w: let the agent's folders have the same paths on the engine's machine: an agent that is a container needs "+
		"--volume FOLDER:FOLDER, and --ipc host for secrets", err)
}

// errNoOutcome is the error of a keeper that ended too early.
var errNoOutcome = errors.New("its keeper left no outcome")

// keep runs the keeper until there is an outcome.
func (t *task) keep(ctx context.Context) error {
	watched, end := context.WithCancel(ctx)
	defer end()
	go t.watch(watched)
	err := t.engine.Keep(ctx, t.attempt, t.folder, t.terminate)
	outcome, problem := t.folder.Exchange().ReadOutcome()
	switch {
	case err == nil && errors.Is(problem, exchange.ErrSpoilt): // the end is recorded, and the program has spoilt what tells it
	case outcome == nil:
		return errors.Join(err, problem, errNoOutcome)
	case err != nil:
		glog.Warning(cannot("keep", t.attempt.Name, err))
	}
	return nil
}

// watch reports the end of a container whose program was never started: the keeper would wait for it. An engine that
// cannot be called is called again.
func (t *task) watch(ctx context.Context) {
	for ctx.Err() == nil {
		err := t.vanished(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// vanished waits for the end of the container, and reports it where no program was started.
func (t *task) vanished(ctx context.Context) error {
	if err := t.wait(ctx); err != nil {
		return err
	}
	started, err := t.folder.Exchange().ReadStarted()
	if err != nil || started != nil {
		return err
	}
	return t.folder.Exchange().WriteEnded(exchange.Ended{
		Code: contract.Refused, Message: "its container ended before its program was started: docker logs " + name(t.attempt.Name),
	})
}

// wait waits until the container does not run.
func (t *task) wait(ctx context.Context) error {
	w := t.engine.Client.ContainerWait(ctx, name(t.attempt.Name), client.ContainerWaitOptions{})
	select {
	case <-w.Result:
		return nil
	case err := <-w.Error:
		return ended(err)
	}
}

// end waits for the end of a container that has its outcome, and kills it if that does not come.
func (t *task) end(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	if err := t.wait(bounded); bounded.Err() == nil || ctx.Err() != nil {
		return err
	}
	_, err := t.engine.Client.ContainerKill(ctx, name(t.attempt.Name), client.ContainerKillOptions{Signal: "SIGKILL"})
	if err != nil && !errdefs.IsConflict(err) { // a conflict: it has ended meanwhile
		return ended(err)
	}
	return t.wait(ctx)
}

// remove removes containers and folder. A container of its name that is another's stays.
func (t *task) remove(ctx context.Context) error {
	for _, one := range []string{name(t.attempt.Name), nameOfImage(t.attempt.Name)} {
		if err := t.discard(ctx, one); err != nil && !errors.Is(err, errForeign) {
			return err
		}
	}
	return t.folder.remove()
}

// discard removes a container, if it is there.
func (t *task) discard(ctx context.Context, name string) error {
	_, err := t.running(ctx, name)
	if err == nil {
		_, err = t.engine.Client.ContainerRemove(ctx, name, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	}
	return ended(err)
}

// ended returns no error for a container that does not exist.
func ended(err error) error {
	if errdefs.IsNotFound(err) {
		return nil
	}
	return err
}
