// Package crowd bounds what many callers hold at once, such as connections, and for how long, so that the excess of one
// is its own.
//
// What must not come in: what is held, and how it is closed.
package crowd

import (
	"cmp"
	"slices"
)

// Crowd holds members, each under the name of its holder. The zero Crowd without bounds admits everything.
type Crowd[M comparable] struct {
	// Each is how many members one holder may have; 0 for no bound.
	Each int
	// Total is how many members all holders may have together; 0 for no bound.
	Total int

	holders map[string][]M
	members int
}

// Admit adds a member, and reports whether it fits. If all holders together have too many, the holder with the most
// gives up its oldest member, which is returned and must be closed; a holder that would have as many itself is
// refused. So a holder with few members is admitted whatever others hold, and a holder never gives up its only one.
func (c *Crowd[M]) Admit(holder string, member M) (evicted *M, admitted bool) {
	own := len(c.holders[holder])
	if c.Each > 0 && own >= c.Each {
		return nil, false
	}
	if c.Total > 0 && c.members >= c.Total {
		largest := c.largest()
		if len(c.holders[largest]) <= own+1 {
			return nil, false
		}
		oldest := c.holders[largest][0]
		c.Leave(largest, oldest)
		evicted = &oldest
	}
	if c.holders == nil {
		c.holders = map[string][]M{}
	}
	c.holders[holder] = append(c.holders[holder], member)
	c.members++
	return evicted, true
}

// Leave removes a member; one that is not there is ignored.
func (c *Crowd[M]) Leave(holder string, member M) {
	i := slices.Index(c.holders[holder], member)
	if i < 0 {
		return
	}
	c.members--
	c.holders[holder] = slices.Delete(c.holders[holder], i, i+1)
	if len(c.holders[holder]) == 0 {
		delete(c.holders, holder)
	}
}

// Members returns how many members there are.
func (c *Crowd[M]) Members() int { return c.members }

// largest returns the holder with the most members; of several the first by name.
func (c *Crowd[M]) largest() string {
	name, most := "", 0
	for holder, members := range c.holders {
		if more := cmp.Compare(len(members), most); more > 0 || more == 0 && holder < name {
			name, most = holder, len(members)
		}
	}
	return name
}
