package serve

import "sync"

// hub wakes the streams that a change concerns.
type hub struct {
	mu      sync.Mutex
	waiters map[topic]map[*bell]struct{}
}

// topic is an application, or a pod.
type topic struct{ kind, namespace, name string }

func applicationTopic(namespace, name string) topic { return topic{"application", namespace, name} }
func podTopic(namespace, name string) topic         { return topic{"pod", namespace, name} }

// bell rings at least once after each change; several changes may be one ring.
type bell struct{ rung chan struct{} }

func newBell() *bell { return &bell{rung: make(chan struct{}, 1)} }

func (b *bell) ring() {
	select {
	case b.rung <- struct{}{}:
	default: // it rings already
	}
}

// join has the bell ring for a topic until the returned function is called.
func (h *hub) join(t topic, b *bell) (leave func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiters == nil {
		h.waiters = map[topic]map[*bell]struct{}{}
	}
	if h.waiters[t] == nil {
		h.waiters[t] = map[*bell]struct{}{}
	}
	h.waiters[t][b] = struct{}{}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.waiters[t], b)
		if len(h.waiters[t]) == 0 {
			delete(h.waiters, t)
		}
	}
}

func (h *hub) changed(t topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for b := range h.waiters[t] {
		b.ring()
	}
}
