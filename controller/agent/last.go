package agent

import (
	"context"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

const (
	// newsTime is how long a container that ends waits for the news whether its unit does, if neither the controller
	// answers nor the pod is known to end.
	newsTime = 5 * time.Second
	// margin is how long before its pod's deadline the time of handlers is over, so that what is interrupted can end. The
	// kubelet leaves a container as much in any case.
	margin = 2 * time.Second
	// unknownTime is the time of handlers while their pod's deadline is not known: that of a pod with the grace period
	// that Kubernetes sets by default.
	unknownTime = 30*time.Second - margin
	// lastPause is the longest pause before the next attempt at an event that failed once the unit leaves: its time is short,
	// and nothing else runs before it.
	lastPause = time.Second
)

// Last is Next for a runner whose container ends: what a unit that leaves is still owed,
// or false when it has heard all, or does not leave (SAFETY.md E14). connected reports whether the controller
// answers. It waits for the news that the unit leaves as long as the runner does: the signal may come long before the
// controller has seen the end of the pod (TRUST.md T2).
func (h *Handlers) Last(ctx context.Context, connected func() bool) (turn Turn, owed bool) {
	h.drop(nil)
	if !h.leaves(ctx, connected) {
		return Turn{}, false
	}
	for {
		t, wait, idle := h.begin()
		h.mu.Lock()
		silent := time.Since(h.era.silent) < reportAgain // another attempt may take the time that events need
		h.mu.Unlock()
		if idle || !silent {
			if err := h.leave(ctx); err != nil {
				glog.Warning(err)
			}
		}
		if t != nil {
			return t.told(h.namespace), true
		}
		if idle || !h.awaits(ctx, time.After(wait)) {
			return Turn{}, false
		}
	}
}

// leaves reports whether the unit ends, after waiting for that news.
func (h *Handlers) leaves(ctx context.Context, connected func() bool) bool {
	for silent := time.Now(); ; {
		snapshot, _ := h.speech.Snapshot() // without news before the controller has answered
		if snapshot.Leaving != "" || snapshot.Returns {
			return snapshot.Leaving != ""
		}
		if connected() || !snapshot.Deadline.IsZero() {
			silent = time.Now()
		}
		left := newsTime - time.Since(silent)
		if left <= 0 || !h.awaits(ctx, time.After(min(left, time.Second))) {
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

// farewell returns when the time of the handlers of a container that ends is over (TRUST.md T2). known returns what the
// unit knows.
func farewell(ctx context.Context, known func() (conversation.Snapshot, error)) {
	for began := time.Now(); ; {
		over := began.Add(unknownTime)
		if snapshot, _ := known(); !snapshot.Deadline.IsZero() {
			over = snapshot.Deadline.Add(-margin)
			if least := began.Add(margin); over.Before(least) {
				over = least
			}
		}
		left := time.Until(over)
		if left <= 0 {
			return
		}
		select {
		case <-time.After(min(left, time.Second)): // the deadline may change
		case <-ctx.Done():
			return
		}
	}
}
