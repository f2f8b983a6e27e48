package serve

import (
	"cmp"
	"sync"
	"sync/atomic"
	"time"
)

// hub wakes the streams that a change concerns.
type hub struct {
	mu        sync.Mutex
	audiences map[topic]*audience
	// resting are audiences that have a telling and that all have left, for a while and until a change: calls without a
	// stream would have it made each time.
	resting map[topic]*audience
}

// restFor is how long an audience rests.
const restFor = 10 * time.Second

// topic is an application, or a pod.
type topic struct{ kind, namespace, name string }

func applicationTopic(namespace, name string) topic { return topic{"application", namespace, name} }
func podTopic(namespace, name string) topic         { return topic{"pod", namespace, name} }

// audience are the streams that wait for one topic.
type audience struct {
	bells map[*bell]struct{}
	// changes counts them, so that a telling knows whether it is out of date.
	changes atomic.Uint64
	// last is the last message to the audience of an application.
	last lastTelling
}

// bell rings at least once after each change; several changes may be one ring.
type bell struct {
	rung chan struct{}
	// next rings it later; nil if it never did.
	next *time.Timer
}

func newBell() *bell { return &bell{rung: make(chan struct{}, 1)} }

func (b *bell) ring() {
	select {
	case b.rung <- struct{}{}:
	default: // it rings already
	}
}

// ringIn rings the bell after a while, once however often it is called before.
func (b *bell) ringIn(d time.Duration) {
	if b.next == nil {
		b.next = time.AfterFunc(d, b.ring)
	}
	b.next.Reset(d)
}

// join has the bell ring for a topic until the returned function is called.
func (h *hub) join(t topic, b *bell) (a *audience, leave func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.audiences == nil {
		h.audiences, h.resting = map[topic]*audience{}, map[topic]*audience{}
	}
	a = h.audiences[t]
	if a == nil {
		a = cmp.Or(h.resting[t], &audience{bells: map[*bell]struct{}{}})
		delete(h.resting, t)
		h.audiences[t] = a
	}
	a.bells[b] = struct{}{}
	return a, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(a.bells, b)
		if len(a.bells) == 0 && h.audiences[t] == a {
			delete(h.audiences, t)
			h.rest(t, a)
		}
	}
}

// rest keeps an audience that all have left for a while. The caller has locked mu.
func (h *hub) rest(t topic, a *audience) {
	a.last.mu.Lock()
	told := a.last.telling != nil
	a.last.mu.Unlock()
	if !told {
		return
	}
	h.resting[t] = a
	time.AfterFunc(restFor, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.resting[t] == a {
			delete(h.resting, t)
		}
	})
}

// changed counts the change before it rings: who hears the bell finds the
// telling out of date.
func (h *hub) changed(t topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.resting, t)
	a := h.audiences[t]
	if a == nil {
		return
	}
	a.changes.Add(1)
	for b := range a.bells {
		b.ring()
	}
}
