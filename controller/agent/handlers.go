package agent

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// ErrNoTurn says that a turn is not, or no longer, the handler's.
var ErrNoTurn = errors.New("it is not this handler's turn any more")

// Handlers tells the unit's handlers of events, one at a time and each until it
// was handled. What a handler says is stored when it succeeds and dropped when it
// fails (RELATIONS.md E11). Methods may be called at any time.
type Handlers struct {
	speech    *Speech
	namespace string
	memory    File

	mu     sync.Mutex
	told   conversation.Memory
	turn   *turn
	failed failure
	// left are the ended relations of which the controller was told that they were
	// handled, as long as they are there.
	left map[string]bool
	rung chan struct{}
}

// failure is why the last turn was not handled, for people and for the pause.
type failure struct {
	attempts int
	what     string
	why      string
	next     time.Time
}

// NewHandlers returns handlers that go on where the last process was.
func NewHandlers(speech *Speech, namespace string, memory File) *Handlers {
	h := &Handlers{speech: speech, namespace: namespace, memory: memory, left: map[string]bool{}, rung: make(chan struct{}, 1)}
	text, err := memory.Read()
	if err == nil && len(text) > 0 {
		h.told, err = conversation.ParseMemory(text)
	}
	if err != nil {
		glog.Errorf("%v; every event is told again", err)
	}
	speech.notify(h.ring)
	return h
}

// ring wakes whoever waits for a turn.
func (h *Handlers) ring() {
	select {
	case h.rung <- struct{}{}:
	default: // it rings already
	}
}

// Next returns the next turn when there is one. A turn that was given before and
// not done is over: its runner is gone.
func (h *Handlers) Next(ctx context.Context) (Turn, error) {
	h.drop()
	for {
		if _, err := h.speech.Leader(ctx); err != nil {
			glog.V(1).Infof("cannot find out who leads: %v", err)
		}
		t, wait := h.begin()
		if t != nil {
			return t.told(h.namespace), nil
		}
		h.leave(ctx)
		var later <-chan time.Time
		if wait > 0 {
			later = time.After(wait)
		}
		select {
		case <-h.rung:
		case <-later:
		case <-ctx.Done():
			return Turn{}, ctx.Err()
		}
	}
}

// begin starts the turn that is owed; wait is how long to wait for one that is
// owed again, zero for the next change.
func (h *Handlers) begin() (t *turn, wait time.Duration) {
	snapshot, err := h.speech.Snapshot()
	if err != nil {
		return nil, 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.told = h.told.Observe(snapshot)
	event, owed := conversation.Next(h.told, snapshot)
	if !owed {
		return nil, 0
	}
	next := &turn{context: rand.Text(), event: event, snapshot: snapshot, transaction: conversation.Begin(snapshot), attempt: 1}
	if h.failed.what == next.describe() {
		if left := time.Until(h.failed.next); left > 0 {
			return nil, left
		}
		next.attempt = h.failed.attempts + 1
	}
	h.turn = next
	glog.V(1).Infof("%s, attempt %d", next.describe(), next.attempt)
	return next, 0
}

// leave tells the controller of the ended relations that the handlers have
// nothing more to hear of: it waits for that (RELATIONS.md L4).
func (h *Handlers) leave(ctx context.Context) {
	snapshot, err := h.speech.Snapshot()
	if err != nil {
		return
	}
	h.mu.Lock()
	ended := map[string]bool{}
	var owed []string
	for _, uid := range h.told.Handled(snapshot) {
		ended[uid] = true
		if !h.left[uid] {
			owed = append(owed, uid)
		}
	}
	maps.DeleteFunc(h.left, func(uid string, _ bool) bool { return !ended[uid] })
	h.mu.Unlock()
	for _, uid := range owed {
		if err := h.speech.Leave(ctx, uid); err != nil {
			glog.Warningf("cannot say that the end of relation %s was handled: %v", uid, err)
			return // the next snapshot, or the relation's own deadline, goes on
		}
		h.mu.Lock()
		h.left[uid] = true
		h.mu.Unlock()
	}
}

func (h *Handlers) drop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turn = nil
}

// at returns the turn of that context.
func (h *Handlers) at(context string) (*turn, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.turn == nil || h.turn.context != context {
		return nil, ErrNoTurn
	}
	return h.turn, nil
}

// Done ends a turn: what its handler said is stored, and then the event is
// remembered; or all of it is dropped and the event told again later.
func (h *Handlers) Done(ctx context.Context, done Done) error {
	t, err := h.at(done.Context)
	if err != nil {
		return err
	}
	if done.ExitCode != 0 {
		h.fail(t, fmt.Sprintf("exit code %d: %s", done.ExitCode, done.Said))
		return nil
	}
	if err := h.speech.Commit(ctx, t.describe(), t.transaction, t.secrets.writes); err != nil {
		h.fail(t, err.Error())
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.told, h.turn, h.failed = h.told.After(t.event, t.snapshot), nil, failure{}
	if done.Handled {
		glog.Infof("handled %s", t.describe())
	}
	return h.save()
}

// save keeps what was told over a restart.
func (h *Handlers) save() error {
	text, err := json.Marshal(h.told)
	if err == nil {
		err = h.memory.Replace(text)
	}
	if err != nil {
		return fmt.Errorf("cannot remember what was handled: %w", err)
	}
	return nil
}

func (h *Handlers) fail(t *turn, why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	pause := conversation.RetryAfter(t.attempt)
	h.turn = nil
	h.failed = failure{attempts: t.attempt, what: t.describe(), why: why, next: time.Now().Add(pause)}
	glog.Warningf("%s failed, attempt %d; again in %s: %s", t.describe(), t.attempt, pause, why)
}

// status says what the handlers are at, for a person.
func (h *Handlers) status() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.turn != nil:
		return fmt.Sprintf("handling %s, attempt %d", h.turn.describe(), h.turn.attempt)
	case h.failed.what != "":
		return fmt.Sprintf("%s failed %d times, again at %s: %s", h.failed.what, h.failed.attempts, stamp(h.failed.next), h.failed.why)
	default:
		return "have handled everything"
	}
}
