package agent

import (
	"context"
	"errors"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
)

// The times of a unit that leads and has not received the databags of its application yet.
const (
	// informed is how long a tool waits for them.
	informed = 5 * time.Second
	// informedTick is how often it looks.
	informedTick = 20 * time.Millisecond
)

// errUninformed is returned where neither True nor False is right: told True, a handler would read empty databags; told
// False, it would leave undone what no other unit may do.
var errUninformed = errors.New(
	"this unit has begun to lead its application, and has not received yet what the leader before has written; try again")

// lead finds whether a unit leads, for a tool.
type lead struct{ speech *Speech }

// is reports whether the unit leads, as Leader does. A unit that leads and does not know yet what the leader before has
// written waits for that (SAFETY.md P1, V4).
func (l lead) is(ctx context.Context) (bool, error) {
	leads, err := l.speech.Leader(ctx)
	if err != nil || leads || !l.uninformed() {
		return leads, err
	}
	ctx, cancel := context.WithTimeout(ctx, informed)
	defer cancel()
	tick := time.NewTicker(informedTick)
	defer tick.Stop()
	for l.uninformed() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false, errUninformed
		}
	}
	return l.speech.Leader(ctx)
}

// uninformed reports whether the unit leads, and does not know yet what leaders before it have written.
func (l lead) uninformed() bool {
	s := l.speech
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Until(s.lease.until) >= leadership.Sure && s.lease.left(s.heard) <= 0
}

// asLeader calls f, which only a leader may, and calls it again if the author of a transaction finds that its unit has begun
// to lead since (SAFETY.md P1).
func asLeader(by *conversation.Transaction, finds func() (leads bool, err error), f func() error) error {
	err := f()
	if by.Leads() || conversation.RefusalOf(err) != conversation.Forbidden {
		return err
	}
	switch leads, unanswered := finds(); {
	case unanswered != nil:
		return unanswered
	case leads:
		return f()
	default:
		return err
	}
}
