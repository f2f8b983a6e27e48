package conversation

import (
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// Debt is an event that an application owes to its handlers (SAFETY.md E15, TRUST.md T2). It is a value:
// what changes it returns another one.
type Debt struct {
	// Owed are the units with handlers that may have to handle it, until each has answered or has gone. In
	// order.
	Owed []Unit
	// Handled is set once a unit has handled it for the application, or if no unit ever could.
	Handled bool
}

// Inherited reports whether no unit is left that could handle it: then the leader does.
func (d Debt) Inherited() bool { return len(d.Owed) == 0 && !d.Handled }

// Over reports whether it is owed to no unit any more.
func (d Debt) Over() bool { return len(d.Owed) == 0 && d.Handled }

// Answered returns the debt after a unit has answered whether it has handled it.
func (d Debt) Answered(by Unit, handled bool) Debt {
	d.Handled = d.Handled || handled
	return d.Without(func(u Unit) bool { return u == by })
}

// Without returns the debt without the units that have gone.
func (d Debt) Without(gone func(Unit) bool) Debt {
	d.Owed = slices.DeleteFunc(slices.Clone(d.Owed), gone)
	if len(d.Owed) == 0 {
		d.Owed = nil
	}
	return d
}

// Owing is a debt as the units that may pay it see it.
type Owing struct {
	// Owed are the numbers of the units that are asked whether they have handled it.
	Owed []int
	// Inherited is set if no such unit is left, so that the leader handles it.
	Inherited bool
}

// Owing returns the debt as the units that may pay it see it.
func (d Debt) Owing() Owing {
	o := Owing{Inherited: d.Inherited()}
	for _, unit := range d.Owed {
		o.Owed = append(o.Owed, unit.Number)
	}
	return o
}

// inheritedBy reports whether the unit of a snapshot inherits the event: it leads. A unit that leaves itself
// inherits nothing.
func (o Owing) inheritedBy(s *Snapshot) bool { return o.Inherited && s.Leader && s.Leaving == "" }

// EndAnswer reports whether a unit has handled the end of a relation for its application: its handlers have,
// while it led (TRUST.md T2).
type EndAnswer struct {
	// Relation is its UID.
	Relation string
	Handled  bool
}

// Ends returns the answers of the unit for the ends in a snapshot: for those that it is asked for and has
// nothing more to hear of. It has nothing to hear of a relation that it never knew, and among peers once all others
// have departed: they have no broken (RELATIONS.md E4).
func (m Memory) Ends(s Snapshot) []EndAnswer {
	var all []EndAnswer
	for i := range s.Relations {
		r := &s.Relations[i]
		told := m.Relations[r.UID]
		alone := r.Role == application.Peer && len(told.Members) == 0
		asked := slices.Contains(r.End.Owed, s.Unit.Number) && (told.Stage == "" || told.Stage == Over || alone)
		inherited := r.End.Inherited && s.Leader && told.Acted
		if r.Life == Ending && (asked || inherited) {
			all = append(all, EndAnswer{r.UID, told.Acted})
		}
	}
	return all
}
