package tool

import (
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// Context is all that tools may ask of the agent. What is written goes into the
// transaction of the handler that calls, or outside a handler into one of its
// own (RELATIONS.md E11); what is read shows what was written in it. What is
// refused is a *conversation.Error, wrapped or not (P4).
type Context struct {
	Relations    Relations
	Membership   conversation.Membership
	Surroundings Surroundings
	Status       Status
	Secrets      Secrets
	Grants       Grants
	// Now is when the call came: what durations are added to.
	Now time.Time
}

// Relations are the unit's relations, named by UID, and their bags. Reading and
// writing are a conversation.Transaction's.
type Relations interface {
	// Snapshot returns the unit's knowledge: for a handler, as of its event. It holds a relation until the unit has
	// received its broken event.
	Snapshot() (conversation.Snapshot, error)
	// Read returns a bag, if the unit may see it (RELATIONS.md P).
	Read(at conversation.Address) (conversation.Bag, error)
	// Set writes keys of the unit's own bag of a relation, or with app of its
	// application's; an empty value deletes its key (RELATIONS.md P3).
	Set(relation string, app bool, values conversation.Bag) error
}

// Surroundings answers a unit's questions beyond the bags.
type Surroundings interface {
	// Leader tells whether the unit leads, and will for long enough to use it
	// (SAFETY.md P1).
	Leader() (bool, error)
	// Goal returns the units and relations that are or will be.
	Goal() (Goal, error)
	// Network returns the addresses of an endpoint of the unit, as one relation sees
	// them or, where the relation is empty, in general.
	Network(endpoint, relation string) (Network, error)
	// Model returns the UUID of the model of the other side.
	Model(relation string) (string, error)
}

// Status reads and sets the status of the unit and its application. It does not belong to a transaction (RELATIONS.md
// E11).
type Status interface {
	// Status returns that of the unit, or of the application with all its units. Only
	// a leader asks for the application's.
	Status(application bool) (Report, error)
	// SetStatus replaces it. Only a leader sets the application's.
	SetStatus(application bool, info status.Info) error
	// SetSide replaces what the unit's application says of how it is in a relation,
	// named by UID (RELATIONS.md L3). Only a leader does.
	SetSide(relation string, info status.Info) error
}

// Secrets reads and changes the secrets that the unit or its application owns, and reads those granted to them.
type Secrets interface {
	// Add makes a secret; its content is not empty.
	Add(owner Owner, secret SecretChange) (SecretID, error)
	// Change makes a new revision if there is content, and changes what else is set.
	Change(id SecretID, change SecretChange) error
	// Remove ends one revision, or with revision 0 all of them and the secret.
	Remove(id SecretID, revision int) error
	// Get returns the content of the revision that the query is about.
	Get(query SecretQuery) (map[string][]byte, error)
	// List returns the secrets that the unit may manage.
	List() ([]Secret, error)
}

// Grants say who else may read a secret.
type Grants interface {
	// Grant lets the other side of a relation read a secret while the relation
	// lives, or one unit of it.
	Grant(id SecretID, to Grantee) error
	// Revoke takes back what was granted to that grantee.
	Revoke(id SecretID, from Grantee) error
}

// Grantee names the readers of a secret. Of Relation (its UID), Application and Unit at least one is set; more of
// them narrow it down.
type Grantee struct {
	Relation    string
	Application string
	Unit        *conversation.Unit
}
