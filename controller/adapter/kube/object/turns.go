package object

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
)

// Turns makes the writers of one object in this process wait for each other once they have met: all
// units of a consumer read a new secret at the same time, and each read is recorded in it.
type Turns struct {
	mu    sync.Mutex
	lines map[string]*line
}

// line is the queue for one object.
type line struct {
	turn    chan struct{}
	waiting int
}

// Take waits for the turn at a name. The caller must end it.
func (t *Turns) Take(ctx context.Context, name string) (end func(), err error) {
	t.mu.Lock()
	if t.lines == nil {
		t.lines = map[string]*line{}
	}
	l := t.lines[name]
	if l == nil {
		l = &line{turn: make(chan struct{}, 1)}
		t.lines[name] = l
	}
	l.waiting++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if l.waiting--; l.waiting == 0 {
			delete(t.lines, name)
		}
	}
	select {
	case l.turn <- struct{}{}:
		return func() { <-l.turn; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

// ConflictBackoff returns how often and how fast a write is tried that other replicas make too: for
// about 2 s, less than an agent waits.
func ConflictBackoff() wait.Backoff {
	return wait.Backoff{Steps: 13, Duration: 5 * time.Millisecond, Factor: 1.5, Jitter: 1}
}

// Write calls write, which writes the object of a name. After a conflict it tries again, one writer of
// this process at a time. Without turns the writers of this process do not wait for each other.
func (t *Turns) Write(ctx context.Context, name string, write func() error) error {
	err := write()
	if !apierrors.IsConflict(err) {
		return err
	}
	if t != nil {
		end, err := t.Take(ctx, name)
		if err != nil {
			return err
		}
		defer end()
	}
	return retry.RetryOnConflict(ConflictBackoff(), write)
}
