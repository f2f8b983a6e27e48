package conversation

import (
	"slices"
	"time"
)

// Departure is the end of a unit, as it is owed to the application at the other end
// of a relation (SAFETY.md E15). It is a value: what changes it returns another one.
type Departure struct {
	Unit   Unit
	Reason Reason
	// Address was its pod's.
	Address string
	// Since is when the unit was found gone.
	Since time.Time
	// Owed are the units with handlers that were there then, and may have known it,
	// until each has answered or has gone itself. In order.
	Owed []Unit
	// Handled is set once one of them has handled it, or where nobody ever could.
	Handled bool
	// OverSince is when it was found to be owed to nobody any more.
	OverSince time.Time
}

// Answer is what the handlers of a unit say of a departure: that they have handled
// it, or that there was nothing to handle, since they never knew who departed. Since
// is the departure's, for a unit of a StatefulSet may depart again.
type Answer struct {
	Unit    Unit
	Since   time.Time
	Handled bool
}

// Leave is what a unit says that its handlers have handled of a relation: departures or,
// without any, its suspension, or else its end.
type Leave struct {
	Unit       Unit
	Departures []Answer
	Suspension bool
}

// Inherited reports whether nobody is left who could handle it: then the leader
// does.
func (d Departure) Inherited() bool { return len(d.Owed) == 0 && !d.Handled }

// Over reports whether it is owed to nobody any more.
func (d Departure) Over() bool { return len(d.Owed) == 0 && d.Handled }

// Answered returns the departure after a unit has answered. An answer about another
// one changes nothing.
func (d Departure) Answered(by Unit, a Answer) Departure {
	if a.Unit != d.Unit || !a.Since.Equal(d.Since) {
		return d
	}
	d.Handled = d.Handled || a.Handled
	return d.Without(func(u Unit) bool { return u == by })
}

// Without returns the departure without those it was owed to and who have gone.
func (d Departure) Without(gone func(Unit) bool) Departure {
	d.Owed = slices.DeleteFunc(slices.Clone(d.Owed), gone)
	if len(d.Owed) == 0 {
		d.Owed = nil
	}
	return d
}

// Answers returns, by the UID of the relation, what the unit has to say of the
// departures in a snapshot: of those that it is asked for and that its handlers have
// nothing more to hear of.
func (m Memory) Answers(s Snapshot) map[string][]Answer {
	all := map[string][]Answer{}
	for i := range s.Relations {
		r := &s.Relations[i]
		for _, t := range r.Departed {
			if answer, due := m.Relations[r.UID].answer(s, t); due {
				all[r.UID] = append(all[r.UID], answer)
			}
		}
	}
	return all
}

// answer returns what the unit of a snapshot has to say of a departure.
func (t Told) answer(s Snapshot, of Tombstone) (answer Answer, due bool) {
	handled := slices.Contains(t.Departed, of.Unit)
	_, knows := t.Members[of.Unit]
	switch {
	case slices.Contains(of.Owed, s.Unit.Number):
		return Answer{of.Unit, of.Since, handled}, handled || !knows
	case of.Inherited && s.Leader:
		return Answer{of.Unit, of.Since, true}, handled
	default:
		return Answer{}, false
	}
}
