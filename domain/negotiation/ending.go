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
type endings struct{ units }

// teardown keeps a deleted relation until each of its sides holds the end, and until agents without handlers have
// heard of it (RELATIONS.md L1, L4, TRUST.md T2). It is not released before its id is counted, which must not be
// given again.
func (e endings) teardown(r relation.Relation) (after relation.Relation, released bool, wake time.Time) {
	if r.Deleted.IsZero() {
		return r, false, time.Time{}
	}
	reason := relation.EndDeleted
	if e.Ending {
		reason = relation.EndNamespaceDeleted
	}
	r.State.EndReason = cmp.Or(r.State.EndReason, reason)
	switch {
	case e.unreadable.relation(r):
		r.State.EndedSince = r.Deleted // nothing can be kept in it
	case r.State.EndedSince.IsZero():
		r.State.EndedSince = e.Now
	}
	if slices.ContainsFunc(r.Ends(), func(end relation.End) bool { return e.notes(r, end) }) {
		return r, false, time.Time{} // what it waits for wakes us
	}
	if over := e.overAt(r); e.Now.Before(over) {
		return r, false, over
	}
	if !e.Ending && r.State.ID > e.LastRelation {
		return r, false, time.Time{} // the id is counted now, which wakes us
	}
	return r, true, time.Time{}
}

// overAt is when a deleted relation is dead once its sides have taken note: at once if no agent has to hear of it,
// later for agents, and much later if the units are unknown. The time before the end was found does not count.
func (e endings) overAt(r relation.Relation) time.Time {
	since := r.State.EndedSince
	if slices.ContainsFunc(e.listening(r), func(end relation.End) bool { return e.unreadable.record(end) }) {
		return since.Add(handling)
	}
	if slices.ContainsFunc(e.listening(r), e.hearsAlone) {
		return since.Add(hearing)
	}
	return since
}

// notes reports whether the side of an end has yet to take note of a relation's end. The debts of a namespace end
// with it.
func (e endings) notes(r relation.Relation, end relation.End) bool {
	side, there := e.sides.of(r, end)
	_, unknown := e.unreadable.pairs.of(r, end)
	if end.Namespace == e.Namespace {
		return (unknown || there && side.Teardown == nil) && !e.Ending
	}
	over := slices.ContainsFunc(e.Abroad, func(a relation.Abroad) bool { return a.Namespace == end.Namespace && a.Ending })
	return r.Opened() && side.Teardown == nil && !over && !offers{e.facts}.replaced(r)
}

// listening returns the ends whose units are to hear of a relation's end. The units of a
// namespace that is ending have no time left, and those elsewhere never heard of a relation
// that no Offer opened, nor those of a namespace that was made again.
func (e endings) listening(r relation.Relation) []relation.End {
	return slices.DeleteFunc(r.Ends(), func(end relation.End) bool {
		if end.Namespace == e.Namespace {
			return e.Ending
		}
		return !r.Opened() || offers{e.facts}.replaced(r)
	})
}

// hearsAlone reports whether a unit of an end has an agent and no handler, whatever has become of its workload and of
// the label of its namespace.
func (e endings) hearsAlone(end relation.End) bool {
	return slices.ContainsFunc(e.of(end), func(u application.Unit) bool { return u.Gone == "" && !u.Handles })
}

// blocking lists the units whose handlers have yet to handle a relation's suspension, besides
// those that have.
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
	for _, end := range r.Ends() {
		if !r.Deleted.IsZero() && end.Namespace != e.Namespace && e.notes(r, end) {
			return fmt.Sprintf("%s: namespace %s has yet to take note of it", text, end.Namespace)
		}
	}
	over := e.overAt(r)
	if r.Deleted.IsZero() || !e.Now.Before(over) {
		return text
	}
	return fmt.Sprintf("%s: agents remove its files, until %s at the latest", text, over.UTC().Format(time.RFC3339))
}
