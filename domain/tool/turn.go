package tool

import (
	"cmp"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// Turn is one attempt of a unit to handle an event, and what its tools read and write in it.
type Turn struct {
	Event       conversation.Event
	Snapshot    conversation.Snapshot
	Transaction *conversation.Transaction
	Membership  conversation.Membership
	// Attempt counts from 1.
	Attempt int
}

// NewTurn returns the first attempt at an event that a unit with a memory is owed.
func NewTurn(told conversation.Memory, e conversation.Event, s conversation.Snapshot) Turn {
	return Turn{
		Event: e, Snapshot: s, Transaction: conversation.BeginEvent(s).About(e), Membership: conversation.MembershipIn(told, e), Attempt: 1,
	}
}

// String names the event and the unit, application or secret that it is about.
func (t Turn) String() string {
	about := cmp.Or(t.Event.Application, t.Event.Secret, t.Snapshot.Unit.Application)
	if t.Event.Unit != nil {
		about = t.Event.Unit.String()
	}
	return Hook(t.Event) + " (" + about + ")"
}
