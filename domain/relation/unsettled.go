package relation

import "errors"

// ErrUnsettled reports that databags change while they are read: what a view shows now may be half of a transaction.
var ErrUnsettled = errors.New("databags change faster than they can be read")

// ErrUnreadable reports that a view needs an object that cannot be read, which is unknown and
// not absent: an agent keeps what it has.
var ErrUnreadable = errors.New("an object that it needs cannot be read")
