package build

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// places is how many builds are under way at once: each may have a child process and its content in memory.
const places = 2

// longest is how long a build may take in all, once it has its place.
const longest = 15 * time.Minute

// made is the result of a build.
type made struct {
	version, source string
}

// work is a build, which goes on after the reconcile that began it.
type work struct {
	// input identifies the inputs of the build, without the content.
	input  string
	cancel context.CancelFunc
	// ended is zero while the build is under way.
	ended time.Time
	made
	err error
}

// works are the builds of all templates; a result is kept until its template changes.
type works struct {
	now  func() time.Time
	done func(types.NamespacedName)

	mu    sync.Mutex
	all   map[types.NamespacedName]*work
	rooms chan struct{}
	// waiting are the builds without a place, in order, and running counts those of each namespace that have one.
	waiting []*waiter
	running map[string]int
}

// waiter is a build that waits for its place; ready is closed once it has that.
type waiter struct {
	namespace string
	ready     chan struct{}
}

// newWorks returns no builds. done is called when one has ended.
func newWorks(now func() time.Time, done func(types.NamespacedName)) *works {
	return &works{
		now: now, done: done, all: map[types.NamespacedName]*work{}, rooms: make(chan struct{}, places), running: map[string]int{},
	}
}

// look returns the last build of an input, which has ended, or begins one. A build that is older than a time is repeated;
// for 0 it never is.
func (w *works) look(
	name types.NamespacedName, input string, again func(error) time.Duration, do func(context.Context) (made, error),
) (last work, ended bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.all[name]
	if one != nil && one.input == input {
		if one.ended.IsZero() {
			return work{}, false
		}
		if after := again(one.err); after == 0 || w.now().Sub(one.ended) < after {
			return *one, true
		}
	}
	if one != nil {
		one.cancel()
	}
	ctx, cancel := context.WithCancel(context.Background())
	next := &work{input: input, cancel: cancel}
	w.all[name] = next
	go w.run(ctx, name, next, do)
	return work{}, false
}

// run carries out a build once there is a place for it.
func (w *works) run(ctx context.Context, name types.NamespacedName, one *work, do func(context.Context) (made, error)) {
	defer one.cancel()
	var (
		result made
		err    error
	)
	if err = w.enter(ctx, name.Namespace); err == nil {
		bounded, end := context.WithTimeout(ctx, longest)
		result, err = do(bounded)
		end()
		w.leave(name.Namespace)
	}
	w.mu.Lock()
	one.made, one.err, one.ended = result, err, w.now()
	current := w.all[name] == one
	w.mu.Unlock()
	if current {
		w.done(name)
	}
}

// enter waits for a place. The next one is for the namespace that has the fewest, so that one with many builds, or with
// slow ones, does not keep out the others.
func (w *works) enter(ctx context.Context, namespace string) error {
	one := &waiter{namespace, make(chan struct{})}
	w.mu.Lock()
	w.waiting = append(w.waiting, one)
	w.admit()
	w.mu.Unlock()
	select {
	case <-one.ready:
		return nil
	case <-ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.Index(w.waiting, one); i >= 0 {
		w.waiting = slices.Delete(w.waiting, i, i+1)
		return context.Cause(ctx)
	}
	return nil // it was given its place meanwhile
}

// leave gives a place back.
func (w *works) leave(namespace string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running[namespace]--; w.running[namespace] == 0 {
		delete(w.running, namespace)
	}
	<-w.rooms
	w.admit()
}

// admit gives places to those that wait, as long as there are some. The caller has locked mu.
func (w *works) admit() {
	for len(w.waiting) > 0 {
		select {
		case w.rooms <- struct{}{}:
		default:
			return
		}
		next := 0
		for i, one := range w.waiting {
			if w.running[one.namespace] < w.running[w.waiting[next].namespace] {
				next = i
			}
		}
		one := w.waiting[next]
		w.waiting = slices.Delete(w.waiting, next, next+1)
		w.running[one.namespace]++
		close(one.ready)
	}
}

// forget stops the build of a template that is gone.
func (w *works) forget(name types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one := w.all[name]; one != nil {
		one.cancel()
		delete(w.all, name)
	}
}
