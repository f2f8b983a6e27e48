package negotiation

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// How long a relation stays dying (RELATIONS.md L4).
const (
	// hearing is how long the agents of units may take to hear of the end.
	hearing = 10 * time.Second
	// handling is how long their handlers may take to handle it.
	handling = 10 * time.Minute
)

// endings says how deleted relations end.
type endings struct{ *facts }

// teardown keeps a deleted relation for its units to hear of, but not for long.
// Without units it is dead at once (RELATIONS.md L1, L4). It is not released
// before its id is counted, which must not be given again.
func (e endings) teardown(r relation.Relation) (after relation.Relation, released bool, wake time.Time) {
	if r.Deleted.IsZero() {
		return r, false, time.Time{}
	}
	r.State.EndReason = cmp.Or(r.State.EndReason, "Deleted")
	if over := e.overAt(r); e.Now.Before(over) {
		return r, false, over
	}
	if !e.Ending && r.State.ID > e.LastRelation {
		return r, false, time.Time{} // the id is counted now, which wakes us
	}
	return r, true, time.Time{}
}

// overAt is when a deleted relation is dead at the latest: at once without units, later for
// agents to receive the end, and much later for handlers to handle it, or where the units
// are unknown.
func (e endings) overAt(r relation.Relation) time.Time {
	unknown := func(end relation.End) bool { return e.unreadable.record(end) }
	if len(e.blocking(r, r.State.Left)) > 0 || slices.ContainsFunc(e.listening(r), unknown) {
		return r.Deleted.Add(handling)
	}
	if slices.ContainsFunc(e.listening(r), e.hearsAlone) {
		return r.Deleted.Add(hearing)
	}
	return r.Deleted
}

// listening returns the ends whose units are to hear of a relation's end. The units of a
// namespace that is ending have no time left, and those elsewhere never heard of a relation
// that no Offer opened.
func (e endings) listening(r relation.Relation) []relation.End {
	return slices.DeleteFunc(r.Ends(), func(end relation.End) bool {
		if end.Namespace == e.Namespace {
			return e.Ending
		}
		return r.State.Offer == ""
	})
}

// hearsAlone reports whether a unit of an end has an agent and no handler.
func (e endings) hearsAlone(end relation.End) bool {
	if end.Namespace != e.Namespace {
		return slices.ContainsFunc(e.record(end).State.Units, func(u application.Unit) bool { return u.Gone == "" && !u.Handles })
	}
	return slices.ContainsFunc(e.apps[end.Application].Pods, func(p application.Pod) bool {
		return p.Injected && !application.HearsOfEvents(p.Annotations)
	})
}

// blocking lists the units whose handlers have yet to handle a relation's end, or its
// suspension, besides those that have.
func (e endings) blocking(r relation.Relation, handled []string) []string {
	var all []string
	for _, end := range e.listening(r) {
		for _, u := range e.record(end).State.Units {
			unit := r.Unit(end, u.Number).String()
			if u.Gone == "" && u.Handles && !slices.Contains(handled, unit) {
				all = append(all, unit)
			}
		}
	}
	return all
}

// waits returns what the end of a relation waits for.
func (e endings) waits(r relation.Relation) string {
	const text = "the relation is ending"
	waits, until := e.blocking(r, r.State.Left), e.overAt(r).UTC().Format(time.RFC3339)
	switch {
	case r.Deleted.IsZero(), e.overAt(r).Equal(r.Deleted):
		return text
	case len(waits) > 0:
		return fmt.Sprintf("%s: it waits for handlers of %s since %s, until %s at the latest", text, listed(waits),
			r.Deleted.UTC().Format(time.RFC3339), until)
	}
	return fmt.Sprintf("%s: agents remove its files, until %s at the latest", text, until)
}
