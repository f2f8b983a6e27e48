package relation

import (
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// Relation is a relation that exists.
type Relation struct {
	Key
	Name string
	// UID is the relation's identity, which a restore keeps; Object is the UID of its object, which a
	// restore does not keep.
	UID, Object string
	// Interface and Version are the ones that both sides agreed on when it was made.
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

// State is the published state of a relation.
type State struct {
	// ID is unique in the namespace and never used again; 0 before it is given.
	ID int
	// Began is when it got the id: no unit knew it before. A restore keeps that. It is zero for one of an earlier version, which
	// began when its object was made.
	Began time.Time
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
	// EndedSince is when its end was found; zero while it lives.
	EndedSince time.Time
	// Closed are those that have handled its suspension, as long as it is suspended.
	Closed []string
	// Departures are those that are owed to handlers, or were within the hour, in
	// order of their units, which are named as Key.Unit does (SAFETY.md E15, P2).
	Departures []conversation.Departure
	// Status is the relation's own.
	Status Status
	// RequirerStatus and ProviderStatus are the statuses that the sides report; a peer relation's one side is its
	// requirer.
	RequirerStatus, ProviderStatus status.Info
	// Offer is the name of the provider's Offer that opened it, where the provider is
	// in another namespace; empty before one did. It stays when that is withdrawn.
	Offer string
	// ProviderUID is the UID of the provider's namespace, if that is another one, when the relation was opened.
	ProviderUID string
	// SuspendedSince is when its Offer was found withdrawn; zero if it was not.
	SuspendedSince time.Time
	Conditions     []condition.Condition
}

// Reasons of ends, beside ReasonDeclarationGone.
const (
	// EndDeleted is the reason of an end for which the Relation was deleted.
	EndDeleted = "Deleted"
	// EndNamespaceDeleted is the reason of an end that came with the requirer's namespace.
	EndNamespaceDeleted = "NamespaceDeleted"
)

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

// Manual reports whether a person or a tool made the relation. A declared one has the name of its pair: origin
// Declared, written by hand, does not avoid the checks.
func (r Relation) Manual() bool { return !r.Declared || r.Name != r.Key.Name() }

// Role returns the part that an end plays.
func (r Relation) Role(e End) application.Role {
	switch {
	case r.Peer():
		return application.Peer
	case e == r.Requirer:
		return application.Requirer
	default:
		return application.Provider
	}
}

// Compare orders relations by age: the one with the lowest id first, those without last.
func Compare(a, b Relation) int {
	const none = int(^uint(0) >> 1)
	order := func(r Relation) int {
		if r.State.ID == 0 {
			return none
		}
		return r.State.ID
	}
	if d := order(a) - order(b); d != 0 {
		return d
	}
	if d := a.Created.Compare(b.Created); d != 0 {
		return d
	}
	return strings.Compare(a.Name, b.Name)
}

// Alive reports whether the relation has not been ended (RELATIONS.md L1).
func (r Relation) Alive() bool { return r.Deleted.IsZero() && r.State.EndReason == "" }

// Ended reports whether its end was decided. The deletion of its object alone may be that of its definition,
// which ends nothing (TRUST.md T1).
func (r Relation) Ended() bool { return r.State.EndReason != "" }

// Held reports whether it waits for its declaration to return.
func (r Relation) Held() bool { return !r.State.HeldSince.IsZero() }

// Opened reports whether its sides may see each other, or could before (RELATIONS.md M6), also before a restore, which
// keeps the UID of the provider's namespace and not the name of the Offer.
func (r Relation) Opened() bool {
	return !r.Abroad() || r.State.Offer != "" || r.State.ProviderUID != ""
}

// Open reports whether its sides may see each other: they are in one namespace, or
// the provider's consents (RELATIONS.md M6).
func (r Relation) Open() bool {
	return !r.Abroad() || r.State.Offer != "" && r.State.SuspendedSince.IsZero() && !r.Uncovered
}
