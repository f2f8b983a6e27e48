package certificate

import (
	"context"
	"time"

	"github.com/golang/glog"
)

// Bounds of the loops: errors are retried after 200 ms, then twice as long
// each time, up to 30 s; and after an hour all is looked at again, since a
// timer does not run while a machine sleeps.
const (
	firstRetry = 200 * time.Millisecond
	lastRetry  = 30 * time.Second
	lookAgain  = time.Hour
)

// loop calls a pass whenever it is woken, and when the pass asked for it.
type loop struct {
	name string
	wake chan struct{}
}

func newLoop(name string) *loop {
	return &loop{name: name, wake: make(chan struct{}, 1)}
}

// nudge wakes the loop. It does not block.
func (l *loop) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// run starts the watches, then calls pass until ctx ends. Pass returns how
// long there is nothing to do.
func (l *loop) run(ctx context.Context, watches []*watch, pass func(context.Context) (time.Duration, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	for _, w := range watches {
		defer w.stop()
	}
	defer cancel()
	for _, w := range watches {
		if err := w.notify(l.nudge); err != nil {
			return err
		}
		if err := w.start(ctx); err != nil {
			return ignoreEnd(ctx, err)
		}
	}
	retry := firstRetry
	for ctx.Err() == nil {
		wait, err := pass(ctx)
		wait = min(wait, lookAgain)
		if err == nil {
			retry = firstRetry
		} else if ctx.Err() == nil {
			glog.Errorf("%s: %v", l.name, err)
			wait = retry
			retry = min(2*retry, lastRetry)
		}
		l.sleep(ctx, wait, err != nil)
	}
	return nil
}

// sleep returns after the wait, or when ctx ends. It also returns when the
// loop is woken, unless the last pass failed: then retries keep their pace.
func (l *loop) sleep(ctx context.Context, wait time.Duration, failed bool) {
	wake := l.wake
	if failed {
		wake = nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-wake:
	case <-timer.C:
	}
}

// ignoreEnd returns nil if err came because ctx ended.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // an orderly end
	}
	return err
}
