package transaction

import (
	"gitlab.ilabt.imec.be/tengu/orcon/domain/history"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// Request is one request to the API. The executor notes its result in Stored; if a write fails because
// the object is not as it was noted, or a creation because the object exists, it calls Forget.
type Request interface{ isRequest() }

// ReadOutbox reads the unit's outbox.
type ReadOutbox struct{}

// CreateOutbox creates the unit's outbox, which is empty.
type CreateOutbox struct{}

// Post writes a commit to the unit's outbox. It is the commit point.
type Post struct{ Commit Commit }

// Empty empties the unit's outbox: its transaction is delivered.
type Empty struct{}

// ReadBag reads a databag.
type ReadBag struct{ Bag relation.Databag }

// CreateBag creates a databag without content. It is deleted with its relation, whose object has the
// name Relation and is in the bag's Home, or in its own namespace.
type CreateBag struct {
	Bag      relation.Databag
	Relation string
}

// WriteBag writes the content of a databag, with its term and its record.
type WriteBag struct {
	Bag relation.Databag
	// Data is the whole content, of which the record keeps no values of the keys in Secret.
	Data   map[string]string
	Secret []string
	// Entry is that of the record, without time and address.
	Entry history.Entry
	Term  int
	// Writer is the number of the unit that writes an application's bag; empty for a unit's own.
	Writer string
}

// ReadSecret reads the object of a secret.
type ReadSecret struct{ ID string }

// CreateSecret creates the object of a secret, without revisions.
type CreateSecret struct {
	ID    string
	Owner secret.Owner
}

// WriteSecret writes a secret; one without revisions has ended, and its object is deleted.
type WriteSecret struct {
	ID          string
	Secret      secret.Secret
	Term        int
	Transaction string
	// Unreachable are the places whose content can be removed afterwards.
	Unreachable []secret.Place
}

func (ReadOutbox) isRequest()   {}
func (CreateOutbox) isRequest() {}
func (Post) isRequest()         {}
func (Empty) isRequest()        {}
func (ReadBag) isRequest()      {}
func (CreateBag) isRequest()    {}
func (WriteBag) isRequest()     {}
func (ReadSecret) isRequest()   {}
func (CreateSecret) isRequest() {}
func (WriteSecret) isRequest()  {}
