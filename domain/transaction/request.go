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

// Try has the API server judge a write of a bag or a secret, and stores nothing.
type Try struct{ Write Request }

// Each has requests that do not depend on each other: an executor may carry them out at the same time and in any order.
// It notes the result of each, as if it had been alone.
type Each struct{ Requests []Request }

// Post writes a commit to the unit's outbox, and creates the outbox if there is none. It is the commit
// point.
type Post struct{ Commit Commit }

// Empty empties the unit's outbox: its transaction is delivered, or dropped for the reason in Dropped.
type Empty struct{ Dropped string }

// ReadBag reads a databag.
type ReadBag struct{ Bag relation.Databag }

// WriteBag writes the content of a databag, with its term and its record, and creates the databag if
// there is none. The databag is deleted with its relation, whose object has the name Relation and is in the
// bag's Home, or in its own namespace.
type WriteBag struct {
	Bag      relation.Databag
	Relation string
	// Data is the whole content; the record keeps no values of the keys in Secret.
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

// WriteSecret writes a secret, or creates its object. One without revisions has ended, and its object is deleted, but for
// a tombstone.
type WriteSecret struct {
	ID          string
	Secret      secret.Secret
	Term        int
	Transaction string
	// Unreachable are the places whose content can be removed afterwards.
	Unreachable []secret.Place
}

// AllOf returns the requests in a request.
func AllOf(r Request) []Request {
	if each, ok := r.(Each); ok {
		return each.Requests
	}
	return []Request{r}
}

// each returns one request for a list of at least one.
func each(all []Request) Request {
	if len(all) == 1 {
		return all[0]
	}
	return Each{all}
}

func (ReadOutbox) isRequest()  {}
func (Try) isRequest()         {}
func (Each) isRequest()        {}
func (Post) isRequest()        {}
func (Empty) isRequest()       {}
func (ReadBag) isRequest()     {}
func (WriteBag) isRequest()    {}
func (ReadSecret) isRequest()  {}
func (WriteSecret) isRequest() {}
