package conversation

import "slices"

// Membership tells which units a workload counts as members of its relations. A
// handler counts those whose joined it has handled, with the unit of its own event, so
// that the list always agrees with the events. The zero Membership is that of a call
// outside of handlers, which sees the units in scope.
type Membership struct {
	handler bool
	told    map[string]Told
	event   Event
}

// MembershipIn returns the membership that the handler of e sees, in a unit that
// remembers m.
func MembershipIn(m Memory, e Event) Membership {
	return Membership{handler: true, told: m.Relations, event: e}
}

// Units returns the other units of a relation, in natural order. In the event's own
// relation a unit that joins or has changed is among them, one that departs is not, and
// a broken relation has none.
func (m Membership) Units(r Relation) []Unit {
	var units []Unit
	if !m.handler {
		for _, member := range r.Units {
			units = append(units, member.Unit)
		}
	}
	for u := range m.told[r.UID].Members {
		units = append(units, u)
	}
	if m.event.Relation == r.UID {
		units = m.during(units)
	}
	slices.SortFunc(units, Unit.Compare)
	return slices.Compact(units)
}

// during returns the members of the event's relation while it is handled, given those
// before it.
func (m Membership) during(before []Unit) []Unit {
	switch e := m.event; {
	case e.Kind == Broken:
		return nil
	case e.Unit == nil:
		return append(before, e.Joined...)
	case e.Kind == Departed:
		return slices.DeleteFunc(before, func(u Unit) bool { return u == *e.Unit })
	default:
		return append(before, *e.Unit)
	}
}
