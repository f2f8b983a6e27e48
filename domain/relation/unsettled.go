package relation

import "errors"

// ErrUnsettled reports that a transaction is being delivered: what a view shows now may be
// half of it.
var ErrUnsettled = errors.New("a transaction is being delivered")

// ErrUnreadable reports that a view needs an object that cannot be read, which is unknown and
// not absent: an agent keeps what it has.
var ErrUnreadable = errors.New("an object that it needs cannot be read")
