package conversation

import (
	"fmt"
	"time"
)

// How long before its end a lease is no longer good for a write, how much of it
// must be left to call oneself leader, and how long after its end a successor
// comes (SAFETY.md P1). The gaps are for clocks that differ and writes that are
// late.
const (
	writeMargin  = 10 * time.Second
	leaderMargin = 30 * time.Second
	successorGap = 5 * time.Second
)

// Fence is a lease of leadership, as it is shown with each write of an
// application's bag.
type Fence struct {
	// Term is higher for each leader of an application; 0 is nobody's.
	Term int64
	// Until is when the lease ends unless it is renewed.
	Until time.Time
}

// IsLeader is what the tool is-leader answers.
func (f Fence) IsLeader(now time.Time) bool {
	return f.Term > 0 && f.Until.Sub(now) >= leaderMargin
}

// Successor is when another unit may lead.
func (f Fence) Successor() time.Time { return f.Until.Add(successorGap) }

// Admit refuses a write of an application's bag that comes too late: with too
// little time left, or into a bag that was written in a higher term. Ask where the
// write is stored (RELATIONS.md P1).
func (f Fence) Admit(bagTerm int64, now time.Time) error {
	switch {
	case f.Term <= 0:
		return &Error{Forbidden, "cannot write for the application: the unit does not lead it", askLeader}
	case f.Term < bagTerm:
		return &Error{Forbidden, fmt.Sprintf("cannot write for the application in term %d: a leader of term %d has written", f.Term, bagTerm), askLeader}
	case f.Until.Sub(now) < writeMargin:
		return &Error{Forbidden, "cannot write for the application: the lease of leadership is over or about to end", "try again when is-leader says True"}
	default:
		return nil
	}
}

const askLeader = "only its leader may: see is-leader"
