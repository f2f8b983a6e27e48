package simulation

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/negotiation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// world is a scenario that is being played.
type world struct {
	*store
	story
	scenario Scenario
	// agents are those of the pods there are, by the pod's UID; known are the last
	// ones of each unit, also after it has gone.
	agents map[string]*agent
	known  map[string]*agent
	// handlers maps application/hook to a script.
	handlers map[string]string
	// stopped is set while there is no controller. It dies after so many writes, if
	// that is not negative, or after it committed a transaction of several bags.
	stopped       bool
	writesLeft    int
	diesCommitted bool
	// wake is when the controller wants to look again; zero for never.
	wake time.Time
}

func newWorld(s Scenario, told func(string)) *world {
	w := &world{
		store: newStore(), scenario: s, agents: map[string]*agent{}, known: map[string]*agent{}, handlers: map[string]string{}, writesLeft: -1,
	}
	w.told = told
	for name, text := range s.files {
		if hook, ok := strings.CutPrefix(name, "handlers/"); ok {
			w.handlers[hook] = text
		}
	}
	return w
}

// errRestless says that things go on happening without end.
var errRestless = errors.New("it does not come to rest: each change leads to another")

// Limits of the actions that follow one step by themselves.
const (
	maxPasses = 20
	maxRounds = 2000
)

// rest lets happen what happens by itself, until nothing does: the controller
// settles the namespace, snapshots travel, and units hear of them, one event each
// in turn.
func (w *world) rest() error {
	for range maxRounds {
		did, err := w.control()
		if err != nil {
			return err
		}
		for _, a := range w.inOrder() {
			did = w.send(a) || did
		}
		for _, a := range w.inOrder() {
			did = w.next(a) || did
		}
		if !did {
			return nil
		}
	}
	return errRestless
}

// inOrder returns the agents by the names of their pods.
func (w *world) inOrder() []*agent {
	all := values(w.agents)
	slices.SortFunc(all, func(a, b *agent) int {
		if by := strings.Compare(a.application, b.application); by != 0 {
			return by
		}
		return a.order - b.order
	})
	return all
}

// control has the controller look until there is nothing left to do.
func (w *world) control() (did bool, err error) {
	if w.stopped {
		return false, nil
	}
	for range maxPasses {
		decisions, wake := negotiation.Negotiate(w.observe())
		w.wake = wake
		if len(decisions) == 0 {
			return did, nil
		}
		did = true
		for _, d := range decisions {
			if w.carryOut(d); w.stopped {
				return did, nil
			}
		}
	}
	return did, fmt.Errorf("%w: the controller", errRestless)
}

// carryOut does what was decided, unless the controller dies before.
func (w *world) carryOut(d relation.Decision) {
	for _, write := range w.writes(d) {
		if w.writesLeft == 0 {
			w.stopped, w.writesLeft = true, -1
			w.tell(w.now, "controller dies")
			return
		}
		w.writesLeft = max(w.writesLeft-1, -1)
		write()
		w.revision++
	}
	w.tell(w.now, "controller: %s", describe(d))
}

func describe(decision relation.Decision) string {
	switch d := decision.(type) {
	case relation.Count:
		return fmt.Sprintf("count relation %d", d.LastRelation)
	case relation.Copy:
		return "copy the data of " + d.Application
	case relation.Publish:
		return fmt.Sprintf("publish %s:%s", d.Application, d.Endpoint)
	case relation.Remember:
		text := "record " + d.Name
		if d.Rollout != nil {
			text += " and roll it out"
		}
		return text
	case relation.Keep:
		return fmt.Sprintf("keep the side of %s of relation %d%s", d.Here(), d.ID, owing(d.Side))
	case relation.Drop:
		return fmt.Sprintf("drop the side of %s of relation %d", d.Here(), d.ID)
	case relation.Relate:
		return fmt.Sprintf("relate %s and %s as %d", d.Requirer, d.Provider, d.State.ID)
	case relation.Update:
		return fmt.Sprintf("update relation %d%s", d.State.ID, stateOf(d.Relation))
	case relation.Finish:
		return fmt.Sprintf("end relation %d", d.State.ID)
	case relation.Release:
		return fmt.Sprintf("release relation %d", d.State.ID)
	case relation.Deliver:
		return "deliver what was committed"
	case relation.Discard:
		return "delete outbox " + d.Name()
	case relation.Withdraw:
		return "delete the bag " + d.Name()
	case relation.Forget:
		return "forget " + d.Name
	case relation.Admit:
		return "admit to offer " + d.Name
	case relation.Answer:
		return "answer offer " + d.Name
	case relation.Mark:
		return "mark " + d.Name
	}
	return "?"
}

// owing returns the units to which a side owes the end of its relation.
func owing(s relation.Side) string {
	switch {
	case s.Teardown == nil:
		return ""
	case s.Teardown.Over():
		return ", ended and handled"
	case s.Teardown.Inherited():
		return ", ended, for the next leader"
	}
	return fmt.Sprintf(", ended, for %v", s.Teardown.Owed)
}

func stateOf(r relation.Relation) string {
	switch {
	case !r.Alive():
		return " ending"
	case r.State.ID == 0:
		return " refused"
	case r.Held():
		return " held"
	case r.State.Status == relation.Suspending:
		return " suspending"
	case !r.Open():
		return " suspended"
	default:
		return ""
	}
}

// unit returns the agent of a unit: of the living, else the last that there was.
func (w *world) unit(name string) (*agent, error) {
	if a, ok := w.known[name]; ok {
		return a, nil
	}
	return nil, fmt.Errorf("no unit %s%s", name, suggestion(name, sortedKeys(w.known)))
}

// relationCalled returns the relation of an id, as 7 or db:7.
func (w *world) relationCalled(text string) (relation.Relation, error) {
	_, digits, found := strings.Cut(text, ":")
	if !found {
		digits = text
	}
	id, err := strconv.Atoi(digits)
	if err != nil {
		return relation.Relation{}, fmt.Errorf("%q is not a relation: write its id, as 7 or db:7", text)
	}
	r, there := w.byID(id)
	if !there {
		return r, fmt.Errorf("there is no relation %d", id)
	}
	return r, nil
}

// renewal is how often an agent renews the lease of leadership, as the real one
// does.
const renewal = 20 * time.Second

// wait lets time pass, and what happens at its times happen.
func (w *world) wait(d time.Duration) error {
	end := w.now.Add(d)
	for {
		if err := w.rest(); err != nil {
			return err
		}
		if !w.now.Before(end) {
			return nil
		}
		w.pass(end)
	}
}

// pass moves the clock to when something happens that more than renews a lease.
func (w *world) pass(end time.Time) {
	for w.now.Before(end) {
		next := w.now.Truncate(renewal).Add(renewal)
		if end.Before(next) {
			next = end
		}
		due := !w.stopped && !w.wake.IsZero() && w.wake.After(w.now) && !w.wake.After(next)
		if due {
			next = w.wake
		}
		for _, a := range w.agents {
			if at := a.failed.next; at.After(w.now) && !at.After(next) {
				next, due = at, true
			}
		}
		w.now = next
		if w.renew() || due {
			return
		}
	}
}

// renew has each agent that leads, or would, renew its lease; it reports whether an agent began or ceased to lead.
func (w *world) renew() (changed bool) {
	for _, a := range w.inOrder() {
		if a.interested && w.now.Equal(w.now.Truncate(renewal)) {
			w.lead(a, false)
		}
		leads, term := a.leads(w.now), a.lease.term
		changed = changed || leads != a.led || leads && term != a.ledTerm
		a.led, a.ledTerm = leads, term
	}
	return changed
}

// podOf returns the pod and the unit's record of an agent.
func (w *world) unitOf(a *agent) (application.Unit, bool) {
	for _, u := range w.records[a.application].State.Units {
		if u.PodUID == a.podUID && u.Gone == "" {
			return u, true
		}
	}
	return application.Unit{}, false
}

// unitName is the unit of a living agent.
func unitName(a *agent) string {
	return conversation.Unit{Application: a.application, Number: a.number}.String()
}
