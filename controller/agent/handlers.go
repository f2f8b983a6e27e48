package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/retry"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

// ErrNoTurn says that a turn is not, or no longer, the handler's.
var ErrNoTurn = errors.New("it is no longer being handled")

// Handlers tells the unit's handlers of events, one at a time and each until it
// was handled. What a handler says is stored when it succeeds and dropped when it
// fails (RELATIONS.md E11). Methods may be called at any time.
type Handlers struct {
	speech    *Speech
	namespace string
	batch     bool

	mu     sync.Mutex
	told   recollection
	turn   *turn
	failed failure
	// reported is the failure that was sent to the controller last; nil before this process has sent one.
	reported  *status.Failure
	candidate candidate
	// waiting is the condition that the next event waits for before it can be sent; empty for none.
	waiting string
	era     era
	rung    chan struct{}
}

// era is the time between two resets of the store.
type era struct {
	number int
	// begins is set until the speech has the first snapshot of the era.
	begins atomic.Bool
	// left has when each answer was sent, as long as the controller waits for it.
	left map[string]time.Time
	// silent is when the controller last took all of the time of an answer, and did not accept it.
	silent time.Time
}

// note notes whether an answer was sent, and how long that took.
func (e *era) note(said string, err error, took time.Duration) {
	switch {
	case err == nil:
		e.left[said], e.silent = time.Now(), time.Time{}
	case took >= answer:
		e.silent = time.Now()
	}
}

// answerAgain is how long after an answer a snapshot that still asks for it gets it again: it may have been stored in a
// Relation from which another one was taking over.
const answerAgain = 30 * time.Second

// again returns the time until an answer for which the controller still waits is due once more.
func (e *era) again() time.Duration {
	wait := untilChange
	for _, at := range e.left {
		if left := time.Until(at.Add(answerAgain)); left > 0 {
			wait = min(wait, left)
		}
	}
	return wait
}

// failure is why the last turn was not handled, and when it is tried again.
type failure struct {
	status.Failure
	next time.Time
}

// isOf reports whether it is a turn's event that failed.
func (f failure) isOf(t *turn) bool {
	return f.Fails() && f.Event == t.String() && f.Relation == t.Event.Relation
}

// hurry brings the next attempt forward, to be no later than after a pause.
func (f *failure) hurry(pause time.Duration) {
	if soon := time.Now().Add(pause); f.next.After(soon) {
		f.next = soon
	}
}

// NewHandlers returns handlers that go on where the last process was.
func NewHandlers(speech *Speech, settings Settings, disk Disk) *Handlers {
	h := &Handlers{
		speech: speech, candidate: candidate{speech: speech}, namespace: settings.Namespace, batch: settings.Batch,
		told: recollection{file: disk.Told, spool: disk.Spool}, rung: make(chan struct{}, 1),
	}
	h.era.left = map[string]time.Time{}
	if err := h.told.recall(); err != nil {
		glog.Errorf("%v; every event is sent again", err)
	}
	speech.notify(h.ring)
	return h
}

// ring wakes the runner that waits for a turn.
func (h *Handlers) ring() {
	select {
	case h.rung <- struct{}{}:
	default: // it rings already
	}
}

// Next is next for a runner in another container.
func (h *Handlers) Next(ctx context.Context) (Turn, error) {
	t, err := h.next(ctx)
	if err != nil {
		return Turn{}, err
	}
	return t.told(h.namespace), nil
}

// next returns the next turn when there is one. A turn that was given before and
// not done is over: its runner is gone.
func (h *Handlers) next(ctx context.Context) (*turn, error) {
	h.drop(nil)
	for {
		again := h.candidate.stand(ctx)
		if ctx.Err() != nil {
			return nil, ctx.Err() // the runner has gone, and another request may have a turn by now
		}
		t, wait, idle := h.begin()
		wait = min(wait, again)
		if err := h.report(ctx, idle); err != nil {
			glog.V(1).Infof("cannot report the state of the handlers: %v", err)
			wait = min(wait, reportAgain)
		}
		if err := h.leave(ctx); err != nil {
			glog.Warningf("%v; trying again", err)
			wait = min(wait, reportAgain)
		}
		h.mu.Lock()
		wait = min(wait, h.era.again(), h.told.again())
		h.mu.Unlock()
		if t != nil {
			return t, nil
		}
		if !h.awaits(ctx, time.After(wait)) {
			return nil, ctx.Err()
		}
	}
}

// untilChange is how long to wait where nothing is owed: a change comes before.
const untilChange = time.Hour

// begin starts the turn that is owed; wait is how long to wait for one that is
// owed again or later, and idle says that nothing is owed.
func (h *Handlers) begin() (t *turn, wait time.Duration, idle bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	begins := h.era.begins.Load() // first: the speech has the snapshot of the era by the time that it is not set
	snapshot, err := h.speech.Snapshot()
	if err != nil || begins {
		return nil, untilChange, false
	}
	if snapshot.Leaving != "" {
		h.failed.hurry(lastPause)
	}
	snapshot.Batch, snapshot.Now = h.batch, time.Now()
	snapshot.Bags = h.told.seen.under(snapshot.Bags)
	h.told.set(conversation.Withdraw(h.told.Observe(snapshot), snapshot))
	event, owed := conversation.Next(h.told.Memory, snapshot)
	if !owed {
		h.failed = failure{} // what failed is owed no more
		if at := snapshot.Wake(); !at.IsZero() {
			return nil, min(untilChange, time.Until(at)), true
		}
		return nil, untilChange, true
	}
	next := &turn{Turn: tool.NewTurn(h.told.Memory, event, snapshot), context: rand.Text(), era: h.era.number}
	if h.failed.isOf(next) {
		if left := time.Until(h.failed.next); left > 0 {
			return nil, left, false
		}
		next.Attempt = h.failed.Attempts + 1
	}
	h.turn = next
	glog.V(1).Infof("%s, attempt %d", next, next.Attempt)
	return next, 0, false
}

// leaving is an answer that the controller waits for: for the end of a relation and whether the unit has
// handled it, or for its suspension, or for departures in it.
type leaving struct {
	relation   string
	departures []conversation.Answer
	suspension bool
	handled    bool
}

// leave answers for the ends that the handlers have handled or never knew: the controller waits for that, also while other
// events are due (RELATIONS.md L4, SAFETY.md E15).
func (h *Handlers) leave(ctx context.Context) error {
	snapshot, err := h.speech.Snapshot()
	if err != nil {
		return nil //nolint:nilerr // nothing was heard that could have been handled
	}
	for said, l := range h.leavings(snapshot) {
		began := time.Now()
		err := h.speech.leave(ctx, l)
		h.mu.Lock()
		h.era.note(said, err, time.Since(began))
		h.mu.Unlock()
		if err != nil {
			return fmt.Errorf("cannot report which ends were handled in relation %s: %w", l.relation, err)
		}
	}
	return nil
}

// leavings returns the departures that the controller does not know yet, each by the note that it is sent.
func (h *Handlers) leavings(snapshot conversation.Snapshot) map[string]leaving {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := map[string]leaving{}
	for _, end := range h.told.Ends(snapshot) {
		all[fmt.Sprint("end of ", end)] = leaving{relation: end.Relation, handled: end.Handled}
	}
	for _, uid := range h.told.Suspended(snapshot) {
		all["suspension of "+uid] = leaving{relation: uid, suspension: true}
	}
	for uid, answers := range h.told.Answers(snapshot) {
		all[fmt.Sprint(uid, answers)] = leaving{relation: uid, departures: answers}
	}
	maps.DeleteFunc(h.era.left, func(said string, _ time.Time) bool { _, owed := all[said]; return !owed })
	maps.DeleteFunc(all, func(said string, _ leaving) bool { return time.Since(h.era.left[said]) < answerAgain })
	return all
}

// drop ends the turn, whose event comes again. If the store was restored to a state that a snapshot shows, it forgets what
// that may contradict, and no turn begins while era.begins is set.
func (h *Handlers) drop(restored *conversation.Snapshot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turn = nil
	if restored == nil {
		return
	}
	h.told.set(h.told.Reset(*restored))
	h.reported, h.era.left = nil, map[string]time.Time{}
	h.era.number++
	h.era.begins.Store(true)
	if err := h.told.save(); err != nil {
		glog.Errorf("%v", err)
	}
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
// remembered; or all of it is dropped and the event told again later, also if a tool of the
// handler got no answer. A tool that still runs is waited for, one that comes later is too late.
func (h *Handlers) Done(ctx context.Context, done Done) error {
	t, err := h.at(done.Context)
	if err != nil {
		return err
	}
	t.tools.Lock()
	defer t.tools.Unlock()
	if _, err := h.at(done.Context); err != nil {
		return err
	}
	if failure := cmp.Or(done.Failure, t.answers.failure()); failure != "" {
		h.fail(t, status.LastWords(failure, slices.Concat(t.secrets.values(), h.speech.concealed())...), t.answers.failure() == "")
		return nil
	}
	writes := t.secrets.stored(t.Transaction.Commit())
	err = patiently(ctx, h.wait, func() error {
		err := t.secrets.current(writes, func(id string, query secret.Query) (secret.Reading, error) {
			return h.speech.getSecret(ctx, id, query)
		})
		if err != nil {
			return err
		}
		return h.speech.Commit(ctx, t.String(), t.Transaction, writes)
	})
	if err == nil {
		err = patiently(ctx, h.wait, func() error { return t.secrets.keep(ctx, h.speech) })
	}
	switch {
	case err != nil && ctx.Err() != nil:
		h.drop(nil) // the runner has gone, or the agent ends: the event is sent again
		return ctx.Err()
	case err != nil:
		h.fail(t, err.Error(), !conversation.Unanswered(err))
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.era != h.era.number {
		return ErrNoTurn
	}
	h.told.set(h.told.After(t.Event, t.answers.under(t.Snapshot)))
	h.turn = nil
	if h.failed.isOf(t) {
		h.failed = failure{}
	}
	if done.Handled {
		glog.Infof("handled %s", t.String())
	}
	if err := h.told.save(); err != nil {
		glog.Errorf("%v; it is sent again if this container restarts before that is saved", err)
	}
	return nil
}

// outage is the longest pause before the next attempt at an event that failed for want of an answer: the handler is not
// at fault, and a pod may wait for it.
const outage = 10 * time.Second

// fail notes that an event was not handled; answered says that the controller has answered all that was asked.
func (h *Handlers) fail(t *turn, why string, answered bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	pause := retry.After(t.Attempt)
	if !answered {
		pause = min(pause, outage)
	}
	h.turn = nil
	h.failed = failure{
		Failure: status.Failure{Event: t.String(), Relation: t.Event.Relation, Attempts: t.Attempt, Said: why},
		next:    time.Now().Add(pause),
	}
	glog.Warningf("%s failed, attempt %d; next attempt in %s: %s", t.String(), t.Attempt, pause, why)
}

// mostOwed is how far the events that are owed are counted.
const mostOwed = 1000

// status returns what the handlers do or wait for, for a person.
func (h *Handlers) status() string {
	snapshot, _ := h.speech.Snapshot() // without relations before the controller has answered
	snapshot.Batch, snapshot.Now = h.batch, time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	owed := conversation.Owed(h.told.Observe(snapshot), snapshot, mostOwed)
	switch {
	case h.waiting != "":
		return fmt.Sprintf("waiting for %s; %s", h.waiting, countEvents(owed))
	case h.turn != nil:
		return fmt.Sprintf("handling %s, attempt %d", h.turn, h.turn.Attempt)
	case h.failed.Fails():
		return fmt.Sprintf("%s failed, attempt %d, next attempt at %s: %s", h.failed.Event, h.failed.Attempts,
			stamp(h.failed.next), h.failed.Said)
	case slices.ContainsFunc(snapshot.Relations, func(r conversation.Relation) bool { return r.Unseen }):
		return "waiting until the controller knows the address of this pod"
	case owed > 0:
		return countEvents(owed)
	default:
		return "all events are handled"
	}
}

// countEvents writes how many events wait to be handled.
func countEvents(owed int) string {
	switch {
	case owed == 1:
		return "1 event is waiting"
	case owed >= mostOwed:
		return fmt.Sprintf("%d or more events are waiting", mostOwed)
	default:
		return fmt.Sprintf("%d events are waiting", owed)
	}
}

// wait notes what the next event waits for, empty for nothing.
func (h *Handlers) wait(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting = what
}
