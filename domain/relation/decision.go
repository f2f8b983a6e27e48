package relation

import (
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/stale"
)

// Decision is one thing to do.
//
//sumtype:decl
type Decision interface{ decision() }

// Count stores the highest id that a relation of the namespace was given. It comes before what has that id:
// an id that is not counted is not given.
type Count struct{ LastRelation int }

// Copy replaces the copy of an application's data as it was observed, unless another process has written meanwhile. An
// empty copy is removed. It comes before the end of a relation that it does not hold any more: that is not stored while a copy
// holds the relation (TRUST.md A1).
type Copy struct {
	StoredCopy
	Next stale.Copy
}

// Publish stores the application bag of an endpoint.
type Publish struct {
	Databag
	// Secret are the fields whose values no record keeps.
	Secret []string
}

// Remember stores what is known of an application. Rollout, if any, comes
// before: a rollout that is asked for twice is one, a record of a rollout that
// was never asked for loses it.
type Remember struct {
	Record
	Rollout *Rollout
}

// Keep stores one side of a relation. It comes before what the side's units may then hear: of a new relation
// before the Relation, of a unit with handlers before its record.
type Keep struct{ Side }

// Drop deletes one side of a relation whose end owes nothing more, after the bags of its end.
type Drop struct {
	Side
	Bags []Databag
}

// Relate makes a relation with that identity.
type Relate struct {
	Pair
	Identity string
	State    State
}

// Update stores the state of a relation.
type Update struct{ Relation }

// Finish deletes a relation that is over.
type Finish struct{ Relation }

// Release lets go of a deleted relation, after the bags that no side keeps: it is dead.
type Release struct {
	Relation
	Bags []Databag
}

// Deliver moves a committed transaction to the bags where it belongs.
type Deliver struct{ Outbox }

// Discard deletes the empty outbox of a unit that has gone.
type Discard struct{ Outbox }

// Withdraw deletes a bag that nothing declares and no relation needs.
type Withdraw struct{ Databag }

// Admit stores the consumers of an Offer with the UIDs of those that are seen for the first time. Nothing is
// opened to a namespace before (TRUST.md T8).
type Admit struct{ Offer }

// Answer stores what is said of an Offer.
type Answer struct{ Offer }

// Forget deletes the record of an application that Orcon no longer relates.
type Forget struct{ Record }

// Mark stores on an unreadable object the conditions that say so, and changes nothing else.
type Mark struct{ Unreadable }

func (Count) decision()    {}
func (Copy) decision()     {}
func (Publish) decision()  {}
func (Remember) decision() {}
func (Keep) decision()     {}
func (Drop) decision()     {}
func (Relate) decision()   {}
func (Update) decision()   {}
func (Finish) decision()   {}
func (Release) decision()  {}
func (Deliver) decision()  {}
func (Discard) decision()  {}
func (Withdraw) decision() {}
func (Admit) decision()    {}
func (Answer) decision()   {}
func (Forget) decision()   {}
func (Mark) decision()     {}

// Closes returns the identity and the requirer of the relation whose end or suspension a decision stores, which no copy
// of the requirer's data may hold then (TRUST.md A1); false for any other decision.
func Closes(decision Decision) (identity string, requirer End, is bool) {
	switch d := decision.(type) {
	case Keep:
		return d.Relation, d.Requirer, d.Teardown != nil
	case Update:
		return d.UID, d.Requirer, d.State.EndReason != "" || !d.State.SuspendedSince.IsZero()
	default:
		return "", End{}, false
	}
}

// Rollout asks for one rollout of each workload, whose template gets the annotations that it lacks. Asking twice for
// the same is one rollout.
type Rollout struct {
	Workloads []application.Workload
	// Version stands for the data of all relations together; empty if the rollout is not for data.
	Version string
}
