package simulation

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

// agent is the process beside a unit: its snapshots, its writes, and the events that its handlers have received. It
// does the work of controller/agent, by the same rules.
type agent struct {
	application, pod, podUID string
	number, order            int
	// numbered is set once the unit has a number.
	numbered bool
	// handles is set where the pod has handlers.
	handles bool

	// disk is the content that survives a restart of the container: the events received, and the revision that was
	// used.
	disk []byte
	used int

	// heard is the snapshot that it acts on; nil before there is one.
	heard *conversation.Snapshot
	told  conversation.Memory
	// unseen are own transactions that no snapshot shows yet.
	unseen []unseen
	lease  lease
	// interested is set once a handler or a person has asked for the leader.
	interested bool
	// led and ledTerm are the values at the last move of the clock.
	led     bool
	ledTerm int
	turn    *tool.Turn
	failed  failure
	left    map[conversation.EndAnswer]bool
	// closed lists the suspended relations that were reported to the controller.
	closed []string

	// sent is the last snapshot on its way to it, waiting are those held back.
	sent    *conversation.Snapshot
	waiting []letter
	held    bool
	cutOff  bool
	// fails is how many handlers are going to fail, stalls that the next one hangs,
	// dies that the process ends before it remembers the next one.
	fails               int
	stalls, dies, batch bool

	// log lists the handlers' events that were not compared yet.
	log []string
}

type unseen struct {
	changes  []conversation.Change
	revision int
}

type lease struct {
	term  int
	until time.Time
}

type failure struct {
	attempts int
	what     string
	next     time.Time
}

// letter is a snapshot on its way, and the revision that it is of.
type letter struct {
	revision int
	snapshot conversation.Snapshot
}

func (a *agent) leads(now time.Time) bool { return a.lease.until.After(now) }

// restart starts the process again, from what it saved.
func (w *world) restart(a *agent) error {
	told, err := conversation.ParseMemory(a.disk)
	if err != nil {
		return err
	}
	a.told, a.heard, a.sent, a.waiting, a.unseen = told, nil, nil, nil, nil
	a.lease, a.interested, a.turn, a.failed, a.left = lease{}, false, nil, failure{}, map[conversation.EndAnswer]bool{}
	w.tell(w.now, "agent of %s starts", a.pod)
	return nil
}

// send puts what a unit may know on its way, if it is not what was sent before.
func (w *world) send(a *agent) bool {
	u, known := w.unitOf(a)
	if w.stopped || a.cutOff || !known {
		return false
	}
	a.number, a.numbered = u.Number, true
	w.known[unitName(a)] = a
	s := w.view(a.application).Heard(a.number)
	if a.sent != nil && same(*a.sent, s) {
		return false
	}
	a.sent = &s
	l := letter{w.revision, s}
	if a.held {
		a.waiting = append(a.waiting, l)
		w.tell(w.now, "a snapshot for %s is held back", unitName(a))
		return false
	}
	w.deliver(a, l)
	return true
}

// same reports whether two snapshots show a unit the same: equal references have equal contents, whatever
// else is beside them.
func same(a, b conversation.Snapshot) bool {
	a.Bags, b.Bags = nil, nil
	return reflect.DeepEqual(a, b)
}

// deliver shows an agent a snapshot, unless it has acted on a newer one
// (SAFETY.md V4).
func (w *world) deliver(a *agent, l letter) {
	if l.revision < a.used {
		w.tell(w.now, "%s leaves out a snapshot that is older than what it has used", unitName(a))
		return
	}
	a.used, a.heard = l.revision, &l.snapshot
	a.unseen = slices.DeleteFunc(a.unseen, func(u unseen) bool { return u.revision <= l.revision })
}

// snapshot returns the unit's present knowledge, with its own writes.
func (a *agent) snapshot(now time.Time) (conversation.Snapshot, error) {
	if a.heard == nil || !a.numbered {
		return conversation.Snapshot{}, refused(conversation.NotYet, "cannot use relations yet: the controller has not answered this pod",
			"try again in a moment")
	}
	s := *a.heard
	for _, u := range a.unseen {
		s = s.With(u.changes)
	}
	s.Leader, s.Term, s.Batch = a.leads(now), int64(a.lease.term), a.batch
	return s, nil
}

// reaches reports whether an agent can ask the controller.
func (w *world) reaches(a *agent) bool { return !w.stopped && !a.cutOff && w.agents[a.podUID] == a }

// lead asks to lead, to go on leading, or to resign.
func (w *world) lead(a *agent, resign bool) {
	u, known := w.unitOf(a)
	leaves := a.heard != nil && a.heard.Leaving != "" && !a.leads(w.now)
	if !known || !w.reaches(a) || leaves {
		return
	}
	before := a.lease
	leader := w.store.lead(a.application, u.Number, a.podUID, resign)
	a.lease = lease{}
	if left := leader.Left(a.podUID, w.now); left > 0 {
		a.lease = lease{leader.Term, w.now.Add(left)}
	}
	if a.lease.term != before.term && a.lease.term != 0 {
		w.tell(w.now, "%s leads in term %d", unitName(a), a.lease.term)
		a.led, a.ledTerm = true, a.lease.term
	}
}

// leadsSurely tells whether the unit leads, and will for long enough to say so; to
// ask makes it a candidate.
func (w *world) leadsSurely(a *agent) bool {
	a.interested = true
	if a.lease.until.Sub(w.now) < leadership.Sure {
		w.lead(a, false)
	}
	return a.lease.until.Sub(w.now) >= leadership.Sure
}

// next has a unit's handlers handle the next event, if one is owed now.
func (w *world) next(a *agent) bool {
	if !a.handles || a.turn != nil {
		return false
	}
	w.leadsSurely(a)
	s, err := a.snapshot(w.now)
	if err != nil {
		return false
	}
	a.told = a.told.Observe(s)
	e, owed := conversation.Next(a.told, s)
	if !owed {
		return w.leaveEnded(a, s)
	}
	t := tool.NewTurn(a.told, e, s)
	if a.failed.what == t.String() {
		if w.now.Before(a.failed.next) {
			return false
		}
		t.Attempt = a.failed.attempts + 1
	}
	a.turn = &t
	w.handle(a, &t)
	return true
}

// leaveEnded tells the controller of the ends that were handled, of relations and of
// units in them.
func (w *world) leaveEnded(a *agent, s conversation.Snapshot) (did bool) {
	if !w.reaches(a) {
		return false
	}
	for _, end := range a.told.Ends(s) {
		if !a.left[end] {
			a.left[end] = true
			w.leave(end.Relation, s.Unit, end.Handled)
			did = true
			if end.Handled {
				w.tell(w.now, "%s has handled the end of %s", s.Unit, nameOf(s, end.Relation))
			} else {
				w.tell(w.now, "%s has nothing to handle at the end of %s", s.Unit, nameOf(s, end.Relation))
			}
		}
	}
	did = w.leaveSuspended(a, s) || did
	answers := a.told.Answers(s)
	for _, uid := range slices.Sorted(maps.Keys(answers)) {
		did = w.answer(uid, s.Unit, answers[uid]) || did
	}
	return did
}

// leaveSuspended tells the controller of the suspensions that were handled, each once.
func (w *world) leaveSuspended(a *agent, s conversation.Snapshot) (did bool) {
	suspended := a.told.Suspended(s)
	for _, uid := range suspended {
		if !slices.Contains(a.closed, uid) {
			w.close(uid, s.Unit.String())
			w.tell(w.now, "%s has handled the suspension of %s", s.Unit, nameOf(s, uid))
			did = true
		}
	}
	a.closed = suspended
	return did
}

func nameOf(s conversation.Snapshot, uid string) string {
	for _, r := range s.Relations {
		if r.UID == uid {
			return fmt.Sprintf("%s:%d", r.Endpoint, r.ID)
		}
	}
	return uid
}

// save stores the received events.
func (a *agent) save() error {
	text, err := json.Marshal(a.told)
	if err != nil {
		return fmt.Errorf("cannot save which events were handled: %w", err)
	}
	a.disk = text
	return nil
}

// hear notes an event for those who compare.
func (w *world) hear(a *agent, text string) {
	a.log = append(a.log, text)
	w.tell(w.now, "%s hears: %s", unitName(a), text)
}

// changedKeys writes keys with what became of them. The addresses that every unit
// has before it is seen (RELATIONS.md L2) are one word.
func changedKeys(added, changed, removed []string) []string {
	var all []string
	for _, of := range []struct {
		sign string
		keys []string
	}{{"+", added}, {"~", changed}, {"-", removed}} {
		keys := slices.Clone(of.keys)
		addresses := []string{"egress-subnets", "ingress-address", "private-address"}
		if !slices.ContainsFunc(addresses, func(k string) bool { return !slices.Contains(keys, k) }) {
			keys = slices.DeleteFunc(keys, func(k string) bool { return slices.Contains(addresses, k) })
			all = append(all, of.sign+"addresses")
		}
		for _, k := range keys {
			all = append(all, of.sign+k)
		}
	}
	return all
}

// eventText writes an event as scenarios expect it.
func eventText(e conversation.Event) string {
	if e.Kind == conversation.Elected {
		return "leader-elected"
	}
	words := []string{fmt.Sprintf("%s:%d", e.Endpoint, e.ID), string(e.Kind)}
	switch {
	case e.Unit != nil:
		words = append(words, e.Unit.String())
	case e.Kind == conversation.Changed:
		words = append(words, e.Application)
	}
	for _, u := range e.Joined {
		words = append(words, u.String())
	}
	words = append(words, changedKeys(e.Difference.Added, e.Difference.Changed, e.Difference.Removed)...)
	if e.Departing != nil && *e.Departing != *e.Unit {
		words = append(words, "departing "+e.Departing.String())
	}
	if e.Reason != "" {
		words = append(words, "("+string(e.Reason)+")")
	}
	if e.Final {
		words = append(words, "final")
	}
	return strings.Join(words, " ")
}
