package relation

import (
	"slices"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// Side holds what the namespace of one end of a relation keeps of it. It is written before a unit with
// handlers, or a provider in another namespace, first hears of the relation, and it outlives the Relation
// until the end has been handled (TRUST.md T0, T2). Peers share one.
type Side struct {
	Key
	// Role is the part that the side's end plays.
	Role application.Role
	// Relation is the relation's identity, and ID its number in the side's namespace (TRUST.md T3).
	Relation  string
	ID        int
	Interface string
	Version   int
	// Known is set before a unit with handlers first hears of the relation.
	Known bool
	// Choice is a person's about the end, also before it comes.
	Choice Choice
	// Teardown is the end of the relation; nil while it has not ended.
	Teardown *Teardown
}

// Choice is a person's about the end of a relation. The zero value is none.
type Choice string

// The choices.
const (
	// ChoiceConfirm ends the relation, however many end with it.
	ChoiceConfirm Choice = "Confirm"
	// ChoiceKeep takes an end back that is held: the relation is lost, and goes on when it is made again.
	ChoiceKeep Choice = "Keep"
	// ChoiceWaive ends the relation without its handlers.
	ChoiceWaive Choice = "Waive"
)

// Teardown is the end of a relation, as one side owes it to its handlers. Its units are named as the side's
// namespace names them.
type Teardown struct {
	// Since is when the end was found, and Reason why it came.
	Since  time.Time
	Reason string
	// Held is set while the end waits for a person, since too many ended at once (TRUST.md T4). Until then the
	// relation is lost to its units, and has not ended.
	Held bool
	// Others are the numbers of the units at the other end that the side's handlers may know: a unit that handles the end
	// without having known them has them depart first. In order.
	Others []int
	conversation.Debt
}

// Here returns the side's own end.
func (s Side) Here() End {
	if s.Role == application.Provider {
		return s.Provider
	}
	return s.Requirer
}

// Name returns the name of the side's object: that of the pair, and the role.
func (s Side) Name() string { return s.SideName(s.Role) }

// SideName returns the name of the object of one side of a pair.
func (k Key) SideName(role application.Role) string {
	switch role {
	case application.Provider:
		return k.Name() + "-provider"
	case application.Peer:
		return k.Name() + "-peer"
	default:
		return k.Name() + "-requirer"
	}
}

// MostOwed is how many units an event is owed to; those beyond it need not answer.
const MostOwed = 128

// Ended returns the side with the end of its relation, owed to the units of its application that have handlers. Peers
// have no broken that a leader could handle. units returns those of an end.
func (s Side) Ended(r Relation, since time.Time, reason string, units func(End) []application.Unit) Side {
	s.Teardown = &Teardown{Since: since, Reason: reason, Debt: conversation.Debt{Handled: !s.Known || s.Role == application.Peer}}
	if s.Known {
		s.Teardown.Owed = Hearers(s.Here(), units(s.Here()))
		s.Teardown.Others = s.others(r, units)
	}
	return s
}

// others returns the numbers of the units at the other end that are there, or whose departure is still owed to the side.
// Those of a relation that is suspended have departed.
func (s Side) others(r Relation, units func(End) []application.Unit) []int {
	if s.Role == application.Peer || !r.Open() {
		return nil
	}
	there := r.Other(s.Here())
	var all []int
	for _, u := range units(there) {
		if u.Gone == "" && u.Address != "" {
			all = append(all, u.Number)
		}
	}
	for _, d := range r.State.Departures {
		if d.Unit == r.Unit(there, d.Unit.Number) && !d.Over() {
			all = append(all, d.Unit.Number)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(len(all), MostOwed)]
}

// Hearers lists the units of an end that have handlers, as the end's namespace names them.
func Hearers(e End, units []application.Unit) []conversation.Unit {
	var all []conversation.Unit
	for _, unit := range units {
		if unit.Gone == "" && unit.Handles {
			all = append(all, conversation.Unit{Application: e.Application, Number: unit.Number})
		}
	}
	return all[:min(len(all), MostOwed)]
}

// Held reports whether the relation has ended for the side, and its end waits for a person (TRUST.md T4).
func (s Side) Held() bool { return s.Teardown != nil && s.Teardown.Held }

// undecided reports whether a provider's handlers know the relation, and its end, if it has one, has yet to be noted or
// to be decided about by a person: it has ended for neither side (TRUST.md T4).
func (s Side) undecided() bool { return s.Known && (s.Teardown == nil || s.Held()) }

// decided reports whether a provider's side has an end that is held no more, which its requirers hear of without a Relation.
// A namespace that was deleted has none, and one that was made again hears of no end before it.
func (s Side) decided() bool {
	return s.Teardown != nil && !s.Held() && s.Teardown.Reason != EndNamespaceDeleted
}

// Decision returns a person's choice as it counts for the side: whether a relation has ended is decided on the provider's,
// for both (TRUST.md T4). Others may waive their own end.
func (s Side) Decision() Choice {
	if s.Role != application.Provider && s.Choice != ChoiceWaive {
		return ""
	}
	return s.Choice
}

// Owes reports whether the side owes the end of the relation to its handlers.
func (s Side) Owes() bool { return s.Teardown != nil && !s.Held() && !s.Teardown.Over() }

// Heeds reports whether a unit of the side may still read what it was granted for the relation: until its
// handlers have handled the end, so that one that began before can finish (RELATIONS.md P2, L4).
func (s Side) Heeds(unit conversation.Unit) bool {
	return s.Teardown == nil || s.Held() || s.Teardown.Inherited() || slices.Contains(s.Teardown.Owed, unit)
}

// relation returns the relation as far as the side knows it without the Relation, which is gone.
func (s Side) relation() Relation {
	return Relation{
		Key: s.Key, Name: s.Key.Name(), UID: s.Relation, Interface: s.Interface, Version: s.Version,
		State: State{ID: s.ID, EndReason: s.Teardown.Reason},
	}
}
