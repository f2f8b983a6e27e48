package build

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// places is how many builds are under way at once: each may have a child process and its content in memory.
const places = 2

// longest is how long a build may take in all.
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
}

// newWorks returns no builds. done is called when one has ended.
func newWorks(now func() time.Time, done func(types.NamespacedName)) *works {
	return &works{now: now, done: done, all: map[types.NamespacedName]*work{}, rooms: make(chan struct{}, places)}
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
	ctx, cancel := context.WithTimeout(context.Background(), longest)
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
	select {
	case w.rooms <- struct{}{}:
		result, err = do(ctx)
		<-w.rooms
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	w.mu.Lock()
	one.made, one.err, one.ended = result, err, w.now()
	current := w.all[name] == one
	w.mu.Unlock()
	if current {
		w.done(name)
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
