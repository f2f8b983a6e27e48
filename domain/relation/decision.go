package relation

import (
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// Decision is one thing to do.
//
//sumtype:decl
type Decision interface{ decision() }

// Count stores the highest id that a relation of the namespace was given. It comes before what has that id:
// an id that is not counted is not given.
type Count struct{ LastRelation int }

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

// Relate makes a relation.
type Relate struct {
	Pair
	State State
}

// Update stores the state of a relation.
type Update struct{ Relation }

// Finish deletes a relation that is over.
type Finish struct{ Relation }

// Release lets go of a deleted relation: it is dead.
type Release struct{ Relation }

// Deliver moves a committed transaction to the bags where it belongs.
type Deliver struct{ Outbox string }

// Withdraw deletes a bag that nobody declares and no relation needs.
type Withdraw struct{ Databag }

// Answer stores what is said of an Offer.
type Answer struct{ Offer }

// Forget deletes the record of an application that takes no part any more.
type Forget struct{ Record }

// Mark stores on an unreadable object the conditions that say so, and changes nothing else.
type Mark struct{ Unreadable }

func (Count) decision()    {}
func (Publish) decision()  {}
func (Remember) decision() {}
func (Relate) decision()   {}
func (Update) decision()   {}
func (Finish) decision()   {}
func (Release) decision()  {}
func (Deliver) decision()  {}
func (Withdraw) decision() {}
func (Answer) decision()   {}
func (Forget) decision()   {}
func (Mark) decision()     {}

// Rollout asks for one rollout of each workload. Asking twice for the same
// version is one rollout.
type Rollout struct {
	Workloads []application.Workload
	// Version stands for the data of all relations together.
	Version string
}
