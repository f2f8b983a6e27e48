package agent

import (
	"context"
	"sync"
	"time"

	"github.com/golang/glog"
)

// candidacy is the pause between two requests for leadership of a unit that does not lead, while much happens or as long as
// they get no answer. Speech requests it every 20 s otherwise.
const candidacy = 5 * time.Second

// candidate requests leadership for a unit whose handlers run.
type candidate struct {
	speech *Speech

	mu sync.Mutex
	// at is when leadership was requested last, and unanswered whether that got no answer.
	at         time.Time
	unanswered bool
}

// stand requests leadership if that is due, and returns the time until the next request. A unit that no snapshot shows has
// no number yet: its request would be refused.
func (c *candidate) stand(ctx context.Context) time.Duration {
	if _, err := c.speech.Snapshot(); err != nil {
		return untilChange
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.at) >= candidacy {
		_, err := c.speech.Leader(ctx)
		if err != nil {
			glog.V(1).Infof("cannot find the leader: %v", err)
		}
		c.at, c.unanswered = time.Now(), err != nil
	}
	if !c.unanswered {
		return untilChange
	}
	return candidacy - time.Since(c.at)
}
