package negotiation

import (
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// Relation is a relation that exists.
type Relation struct {
	Key
	Name string
	UID  string
	// Interface and Version are what both sides agreed on when it was made.
	Interface string
	Version   int
	// Declared relations come from annotations; others a person made.
	Declared bool
	Created  time.Time
	// Deleted is when its deletion was asked for; zero while it is not.
	Deleted time.Time
	State   State
	// Uncovered says that no Offer covers it, whatever its state says; lent are the
	// Secrets that Offers list for it: see Under.
	Uncovered bool
	lent      []string
}

// State is what Orcon says of a relation.
type State struct {
	// ID is unique in the namespace and never used again; 0 before it is given.
	ID int
	// Retain is how long it outlives its declaration.
	Retain time.Duration
	// HeldSince is when its declaration was found missing; zero if it was not.
	HeldSince time.Time
	// HeldReason is DeclarationGone, or LimitReached where the declaration is back and
	// other relations have its place; empty while it is not held.
	HeldReason string
	// Data tells whether the requirer has the data that it waits for.
	Data Data
	// EndReason says why it ends; empty while it lives.
	EndReason string
	// Left are the units that have handled its end, as Key.Unit names them.
	Left []string
	// Closed are those that have handled its suspension, as long as it is suspended.
	Closed []string
	// Departures are those that are owed to handlers, or were within the hour, in
	// order of their units, which are named as Key.Unit does (SAFETY.md E15, P2).
	Departures []conversation.Departure
	// Status is the relation's own.
	Status Status
	// RequirerStatus and ProviderStatus are what the sides say of it; a peer
	// relation's one side is its requirer.
	RequirerStatus, ProviderStatus status.Info
	// Offer is the name of the provider's Offer that opened it, where the provider is
	// in another namespace; empty before one did. It stays when that is withdrawn.
	Offer string
	// SuspendedSince is when its Offer was found withdrawn; zero if it was not.
	SuspendedSince time.Time
	Conditions     []condition.Condition
}

// Data tells whether the data that the requirer of a relation waits for is there.
type Data string

// The values of Data. It is empty before the relation was looked at.
const (
	DataComplete Data = "Complete"
	DataMissing  Data = "Missing"
)

// Complete reports whether the requirer has the data that its start gate waits for. A
// handler that fails changes nothing of that (SAFETY.md V5).
func (r Relation) Complete() bool {
	if r.State.Data != "" {
		return r.State.Data == DataComplete
	}
	ready, _ := condition.Find(r.State.Conditions, condition.Ready)
	return ready.True
}

// Alive reports whether nobody has ended the relation (RELATIONS.md L1).
func (r Relation) Alive() bool { return r.Deleted.IsZero() && r.State.EndReason == "" }

// Held reports whether it waits for its declaration to return.
func (r Relation) Held() bool { return !r.State.HeldSince.IsZero() }

// Open reports whether its sides may see each other: they are in one namespace, or
// the provider's consents (RELATIONS.md M6).
func (r Relation) Open() bool {
	return !r.Abroad() || r.State.Offer != "" && r.State.SuspendedSince.IsZero() && !r.Uncovered
}

// Record is what is remembered of an application.
type Record struct {
	Name  string
	UID   string
	State ApplicationState
}

// ApplicationState is what Orcon says of an application.
type ApplicationState struct {
	// Endpoints in force, in order of declaration.
	Endpoints []application.Endpoint
	// Sources are the objects that it is made of, as kind/name.
	Sources []string
	// LeftOut are objects that would be of it and take no part, each with why.
	LeftOut  []application.Fault
	Units    []application.Unit
	NextUnit int
	// LastRelation is the highest relation id that it was ever given.
	LastRelation int
	Restarts     Restarts
	// Grants are the Secrets that its endpoints grant, in order of endpoint.
	Grants []Grant
	// Workload is how its leader says it is.
	Workload status.Info
	// Waiting lists the endpoints that have no complete relation.
	Waiting    []Waiting
	Conditions []condition.Condition
}

// Snapshot is one namespace as last seen, and the time, whole seconds in UTC.
type Snapshot struct {
	Namespace string
	Now       time.Time
	// Ending is set while the namespace is being deleted.
	Ending bool
	// OptedOut is set where the namespace has not opted in. Its objects are not
	// looked at then, so that their units are as they were (SAFETY.md E13).
	OptedOut     bool
	Applications []application.Application
	// Orphans are declarations that belong to no application.
	Orphans   []application.Fault
	Relations []Relation
	Databags  []Databag
	Records   []Record
	// Offers are the namespace's own, and Consumers the relations of other namespaces
	// whose provider is in this one.
	Offers    []Offer
	Consumers []Relation
	// Abroad is what other namespaces hold that relations of this one may be about.
	Abroad []Abroad
	// Outboxes are the names of transactions that are committed and not yet in
	// all their bags (SAFETY.md E11).
	Outboxes []string
	// Interfaces are those that are known, and Schema is what the namespace wants of
	// them; unset is schema.Warn.
	Interfaces schema.Catalog
	Schema     schema.Mode
	// Secrets are those that the applications grant or granted, as far as the
	// controller may see them; LookAgain is when they are to be looked at again, since
	// nobody tells of a change. Account is the controller's own, as namespace:name.
	Secrets   []secret.Source
	LookAgain time.Time
	Account   string
}

// Decision is one thing to do.
//
//sumtype:decl
type Decision interface{ decision() }

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
