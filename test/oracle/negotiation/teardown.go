package negotiation

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// How long a relation stays dying (RELATIONS.md L4).
const (
	// hearing is how long the agents of units may take to hear of the end.
	hearing = 10 * time.Second
	// handling is how long their handlers may take to handle it.
	handling = 10 * time.Minute
)

// teardown keeps a deleted relation for its units to hear of, but not for long.
// Without units it is dead at once (RELATIONS.md L1, L4). It is not released
// before a record holds its id, which must not be given again.
func (n *negotiation) teardown(r Relation) (after Relation, released bool) {
	if r.Deleted.IsZero() {
		return r, false
	}
	r.State.EndReason = cmp.Or(r.State.EndReason, "Deleted")
	if over := n.overAt(r); n.Now.Before(over) {
		n.wakeAt(over)
		return r, false
	}
	if !n.Ending && r.State.ID > n.recorded {
		return r, false // the record is written now, and wakes us
	}
	n.ends = append(n.ends, Release{r})
	return r, true
}

// overAt is when a deleted relation is dead at the latest: at once without units,
// later for agents to hear of the end, and much later for handlers to handle it.
func (n *negotiation) overAt(r Relation) time.Time {
	if len(n.blocking(r, r.State.Left)) > 0 {
		return r.Deleted.Add(handling)
	}
	if slices.ContainsFunc(n.listening(r), n.hearsAlone) {
		return r.Deleted.Add(hearing)
	}
	return r.Deleted
}

// listening returns the ends whose units are to hear of a relation's end: in a
// namespace that is ending its own have no time left, and elsewhere nobody has
// heard of a relation that no Offer ever opened.
func (n *negotiation) listening(r Relation) []End {
	return slices.DeleteFunc(r.ends(), func(e End) bool {
		if e.Namespace == n.Namespace {
			return n.Ending
		}
		return r.State.Offer == ""
	})
}

// hearsAlone reports whether a unit of an end has an agent and no handler.
func (n *negotiation) hearsAlone(e End) bool {
	if e.Namespace != n.Namespace {
		return slices.ContainsFunc(n.record(e).State.Units, func(u application.Unit) bool { return u.Gone == "" && !u.Handles })
	}
	return slices.ContainsFunc(n.apps[e.Application].Pods, func(p application.Pod) bool {
		return p.Injected && !application.HearsOfEvents(p.Annotations)
	})
}

// blocking lists the units whose handlers have yet to handle a relation's end, or its
// suspension, besides those that have.
func (n *negotiation) blocking(r Relation, handled []string) []string {
	var all []string
	for _, e := range n.listening(r) {
		for _, u := range n.record(e).State.Units {
			unit := r.Unit(e, u.Number).String()
			if u.Gone == "" && u.Handles && !slices.Contains(handled, unit) {
				all = append(all, unit)
			}
		}
	}
	return all
}

// Heeds reports whether a unit of one of its ends, as a namespace names it, may still
// read what it was granted for the relation: as long as that lives, and then until its
// handlers have handled the end, so that one that began before can finish. Teardown ends
// that in any case (RELATIONS.md P2, L4).
func (r Relation) Heeds(namespace string, unit conversation.Unit) bool {
	return r.Alive() || r.Open() && slices.ContainsFunc(r.ends(), func(e End) bool {
		return e.from(namespace) == unit.Application && !slices.Contains(r.State.Left, r.Unit(e, unit.Number).String())
	})
}

// ending says what the end of a relation waits for.
func (n *negotiation) ending(r Relation) string {
	const text = "the relation is ending"
	waits, until := n.blocking(r, r.State.Left), n.overAt(r).UTC().Format(time.RFC3339)
	switch {
	case r.Deleted.IsZero(), n.overAt(r).Equal(r.Deleted):
		return text
	case len(waits) > 0:
		return fmt.Sprintf("%s: it waits for handlers of %s since %s, until %s at the latest", text, listed(waits),
			r.Deleted.UTC().Format(time.RFC3339), until)
	}
	return fmt.Sprintf("%s: agents remove its files, until %s at the latest", text, until)
}

// Unit returns how a relation's state names a unit of one of its ends: as its
// requirer's namespace does.
func (k Key) Unit(e End, number int) conversation.Unit {
	return conversation.Unit{Application: e.from(k.Requirer.Namespace), Number: number}
}
