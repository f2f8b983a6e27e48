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
	// Debt is owed to the units with handlers that were there then, and may have known it.
	Debt
	// OverSince is when it was found to be owed no more.
	OverSince time.Time
}

// Answer reports how the handlers of a unit ended for a departure: they handled it, or there was nothing to handle,
// since they never knew the departed unit. Since is the departure's, for a unit of a StatefulSet may depart again.
type Answer struct {
	Unit    Unit
	Since   time.Time
	Handled bool
}

// Leave is the answer of a unit for a relation: for departures or, without any, for its suspension, or else
// for its end.
type Leave struct {
	Unit       Unit
	Departures []Answer
	Suspension bool
	// Handled reports of the end whether the unit has handled it, as EndAnswer does.
	Handled bool
}

// Answered returns the departure after a unit has answered. An answer about another
// one changes nothing.
func (d Departure) Answered(by Unit, a Answer) Departure {
	if a.Unit != d.Unit || !a.Since.Equal(d.Since) {
		return d
	}
	d.Debt = d.Debt.Answered(by, a.Handled)
	return d
}

// Without returns the departure without those it was owed to and who have gone.
func (d Departure) Without(gone func(Unit) bool) Departure {
	d.Debt = d.Debt.Without(gone)
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
