package conversation

import (
	"cmp"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// Next returns the event that the unit is owed now, or false if it has heard all that the snapshot holds (RELATIONS.md
// E1–E9). Secrets come before relations: each has few events, and a password that is due does not wait. It is a pure
// function: the same memory and snapshot give the same event, in whatever order the snapshot lists things. Show the
// handler this snapshot, and remember the event by After with it.
func Next(m Memory, s Snapshot) (Event, bool) {
	if toldTerm := m.Leader && m.Term == s.Term; s.Leader && !toldTerm && s.Leaving == "" {
		return Event{Kind: Elected}, true
	}
	if e, owed := nextSecret(m, &s); owed {
		return e, true
	}
	for _, r := range inTurn(m.Turn, s.Relations) {
		a := audience{told: m.Relations[r.UID], relation: r, snapshot: &s}
		if e, owed := a.next(); owed {
			return e, true
		}
	}
	return Event{}, false
}

// Owed returns how many events the unit is owed now, counted up to most.
func Owed(m Memory, s Snapshot, most int) int {
	s.Bags = nil // versions tell which events there are, and contents may be in files
	for n := range most {
		e, owed := Next(m, s)
		if !owed {
			return n
		}
		m = m.After(e, s)
	}
	return most
}

// inTurn orders the relations: after the one that had the last event, and then from the beginning (RELATIONS.md E9).
func inTurn(last Turn, relations []Relation) []*Relation {
	order := make([]*Relation, len(relations))
	for i := range relations {
		order[i] = &relations[i]
	}
	slices.SortFunc(order, func(a, b *Relation) int {
		first, second := turnOf(a), turnOf(b)
		if past, other := first.compare(last) <= 0, second.compare(last) <= 0; past != other {
			if past {
				return 1
			}
			return -1
		}
		return first.compare(second)
	})
	return order
}

// audience is a unit that listens to one relation.
type audience struct {
	told     Told
	relation *Relation
	snapshot *Snapshot
}

// next returns the first event of the relation that is owed.
func (a *audience) next() (Event, bool) {
	if a.told.Stage != Open {
		return a.reopened()
	}
	e, owed := a.first((*audience).pending, (*audience).departed, (*audience).broken)
	if owed || a.closing() {
		return e, owed
	}
	return a.first((*audience).together, (*audience).application, (*audience).joined, (*audience).changed)
}

// first returns the event of the first rule by which one is owed.
func (a *audience) first(rules ...func(*audience) (Event, bool)) (Event, bool) {
	for _, rule := range rules {
		if e, owed := rule(a); owed {
			return e, true
		}
	}
	return Event{}, false
}

// closing reports whether the relation comes to an end for this unit: then all units depart, and none joins or
// changes. An unknown life does not mean an end (SAFETY.md E13).
func (a *audience) closing() bool {
	return a.relation.Life == Suspended || a.relation.Life == Ending || a.snapshot.Leaving != ""
}

// reopened is RELATIONS.md E1, for a relation that the unit is not in: it is created, also if it was suspended
// before, once the others see the unit (RELATIONS.md L2). An end before it was created concerns only the leader that
// inherits it, also after it was over (TRUST.md T2); an end for good while it was closed is announced once more,
// since data may be deleted only now (SAFETY.md E14).
func (a *audience) reopened() (Event, bool) {
	inherits := a.relation.End.inheritedBy(a.snapshot) && !a.told.Acted
	switch {
	case inherits && a.relation.ended() && a.relation.Role != application.Peer:
		if e, owed := a.departed(); owed && a.told.Stage == "" {
			return e, true
		}
		return a.end(Broken), true
	case a.told.Stage == Over, !a.closing() && a.relation.Unseen:
		return Event{}, false
	case !a.closing():
		return a.event(Created), true
	case a.told.Stage == Closed && a.relation.ended():
		return a.end(Broken), true
	default:
		return Event{}, false
	}
}

// pending is RELATIONS.md E2: the bag of a unit that has joined comes next, even if the unit has left meanwhile.
func (a *audience) pending() (Event, bool) {
	var first *Unit
	for u, seen := range a.told.Members {
		if seen.Version != "" {
			continue
		}
		if _, known := a.relation.bagOf(u); known || a.closing() {
			first = lower(first, u)
		}
	}
	if first == nil {
		return Event{}, false
	}
	return a.change(*first), true
}

// departed is RELATIONS.md E3: of the units that the unit knows, or that it has
// inherited as leader (SAFETY.md E15), the first that has ended.
func (a *audience) departed() (Event, bool) {
	var first *Unit
	if a.closing() {
		for u := range a.told.Members {
			first = lower(first, u)
		}
	}
	for _, t := range a.relation.Departed {
		if a.owes(t) {
			first = lower(first, t.Unit)
		}
	}
	if first == nil {
		return Event{}, false
	}
	e := a.end(Departed)
	e.Unit, e.Departing = first, first
	if a.snapshot.Leaving != "" {
		e.Departing = &a.snapshot.Unit
	} else if t, ended := a.relation.tombstone(*first); ended {
		e.Reason = t.Reason
	}
	return e, true
}

// owes reports whether a departure is owed to the unit. One that is in scope again has not departed, unless the relation
// has ended. A unit that inherits that end and never knew the relation is owed all departures (TRUST.md T2).
func (a *audience) owes(t Tombstone) bool {
	_, knows := a.told.Members[t.Unit]
	inherits := t.inheritedBy(a.snapshot) || a.told.Stage == "" && a.relation.End.inheritedBy(a.snapshot)
	if !knows && (!inherits || slices.Contains(a.told.Departed, t.Unit)) {
		return false
	}
	_, back := a.relation.member(t.Unit)
	return !back || a.relation.ended()
}

// broken is RELATIONS.md E4, after every departure.
func (a *audience) broken() (Event, bool) {
	if a.relation.Role == application.Peer || !a.closing() {
		return Event{}, false
	}
	return a.end(Broken), true
}

// together is RELATIONS.md E12: a whole first join, with the bag of its application, as one event.
func (a *audience) together() (Event, bool) {
	if !a.snapshot.Batch || len(a.told.Members) > 0 {
		return Event{}, false
	}
	e := a.event(Joined)
	for _, m := range a.relation.Units {
		if m.Unit != a.snapshot.Unit {
			e.Joined = append(e.Joined, m.Unit)
		}
	}
	slices.SortFunc(e.Joined, Unit.Compare)
	if said, owed := a.application(); owed {
		e.Difference = said.Difference
	}
	return e, len(e.Joined) > 0
}

// application is RELATIONS.md E5.
func (a *audience) application() (Event, bool) {
	bag := a.relation.applicationBag()
	if ownsPeerBag(a.relation, a.snapshot) || !a.told.Application.differs(bag) {
		return Event{}, false
	}
	e := a.event(Changed)
	e.Difference = a.told.Application.difference(bag, a.snapshot)
	return e, true
}

// joined is RELATIONS.md E6.
func (a *audience) joined() (Event, bool) {
	var first *Unit
	for _, m := range a.relation.Units {
		if _, known := a.told.Members[m.Unit]; !known && m.Unit != a.snapshot.Unit {
			first = lower(first, m.Unit)
		}
	}
	if first == nil {
		return Event{}, false
	}
	e := a.event(Joined)
	e.Unit = first
	return e, true
}

// changed is RELATIONS.md E7.
func (a *audience) changed() (Event, bool) {
	var first *Unit
	for _, m := range a.relation.Units {
		if first != nil && first.Compare(m.Unit) < 0 {
			continue
		}
		if seen, known := a.told.Members[m.Unit]; known && seen.differs(m.Bag) {
			first = lower(first, m.Unit)
		}
	}
	if first == nil {
		return Event{}, false
	}
	return a.change(*first), true
}

// change tells what is new in a unit's bag.
func (a *audience) change(u Unit) Event {
	bag, _ := a.relation.bagOf(u)
	e := a.event(Changed)
	e.Unit, e.Difference = &u, a.told.Members[u].difference(bag, a.snapshot)
	return e
}

// end returns the event of an end, with the reason of the relation if that has ended for good, else of the unit, else of
// the suspension.
func (a *audience) end(kind Kind) Event {
	r, e := a.relation, a.event(kind)
	e.Final = kind == Broken && r.ended()
	switch {
	case !r.ended() && a.snapshot.Leaving != "":
		e.Reason = a.snapshot.Leaving
	case r.Life == Suspended:
		e.Reason = cmp.Or(r.EndReason, SuspendedReason)
	default:
		e.Reason = cmp.Or(r.EndReason, RelationRemoved)
	}
	return e
}

func (a *audience) event(kind Kind) Event {
	r := a.relation
	return Event{Kind: kind, Relation: r.UID, ID: r.ID, Endpoint: r.Endpoint, Application: r.Remote}
}

// lower returns the lower one of two units; the first may be missing.
func lower(first *Unit, u Unit) *Unit {
	if first == nil || u.Compare(*first) < 0 {
		return &u
	}
	return first
}
