package kube

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
)

// Turns has writers of one object in this process wait for each other once they
// have met: all units of a consumer read a new secret when they hear of it, and
// each notes that it has. Without it most of their writes would be in vain.
type Turns struct {
	mu    sync.Mutex
	lines map[string]*line
}

// line is who waits for one object.
type line struct {
	turn    chan struct{}
	waiting int
}

// take waits for the turn at a name; whoever gets it ends it.
func (t *Turns) take(ctx context.Context, name string) (end func(), err error) {
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

// crowded is how often a write is tried that other replicas make too: for about
// 2 s, less than an agent waits.
func crowded() wait.Backoff {
	return wait.Backoff{Steps: 13, Duration: 5 * time.Millisecond, Factor: 1.5, Jitter: 1}
}

// inTurn writes something of that name; where others were faster, again, one of
// this process at a time.
func (c *Commits) inTurn(ctx context.Context, name string, write func() error) error {
	err := write()
	if !apierrors.IsConflict(err) {
		return err
	}
	if c.Turns != nil {
		end, err := c.Turns.take(ctx, name)
		if err != nil {
			return err
		}
		defer end()
	}
	return retry.RetryOnConflict(crowded(), write)
}
