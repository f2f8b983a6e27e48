package agent

import (
	"context"
	"time"
)

// newsTime is how long a container that ends waits for the news that its unit does: it
// may hear of its end before the controller has seen that of the pod.
const newsTime = time.Second

// Last is Next for a runner whose container ends: what a unit that leaves is still owed,
// or false when it has heard all, or does not leave (SAFETY.md E14).
func (h *Handlers) Last(ctx context.Context) (turn Turn, owed bool) {
	h.drop()
	if !h.leaves(ctx) {
		return Turn{}, false
	}
	for {
		t, wait, idle := h.begin()
		if t != nil {
			return t.told(h.namespace), true
		}
		if idle || !h.awaits(ctx, time.After(wait)) {
			return Turn{}, false
		}
	}
}

// leaves tells whether the unit ends, waiting for that news.
func (h *Handlers) leaves(ctx context.Context) bool {
	news, stop := context.WithTimeout(ctx, newsTime)
	defer stop()
	for {
		if snapshot, err := h.speech.Snapshot(); err == nil && snapshot.Leaving != "" {
			return true
		}
		if !h.awaits(news, nil) {
			return false
		}
	}
}

// awaits waits for a change or for a time, and returns false when ctx is done before.
func (h *Handlers) awaits(ctx context.Context, until <-chan time.Time) bool {
	select {
	case <-h.rung:
	case <-until:
	case <-ctx.Done():
		return false
	}
	return true
}
