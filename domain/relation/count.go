package relation

import (
	"errors"
	"fmt"
)

// mostRaised is how far above the count an id may be that an agent names: nothing else vouches for it.
const mostRaised = 1 << 20

// ErrFarAhead reports an id that is too far above those that were given.
var ErrFarAhead = errors.New("no relation of the namespace can have this id")

// Raise returns the count after an agent has named the highest id that it has received. A store that was restored does
// not have the ids that were given after the backup, by which handlers have named what they made outside (TRUST.md T3).
func (c Count) Raise(received int) (Count, error) {
	if received-c.LastRelation > mostRaised {
		return c, fmt.Errorf("%w: %d, where the highest that was given is %d, is more than %d above it",
			ErrFarAhead, received, c.LastRelation, mostRaised)
	}
	c.LastRelation = max(c.LastRelation, received)
	return c, nil
}
