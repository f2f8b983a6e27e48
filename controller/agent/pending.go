package agent

import (
	"context"
	"sync"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
)

// pending counts the commits that may still be stored: those under way, and for a while those whose answer was lost. The
// zero value has none.
type pending struct {
	mu      sync.Mutex
	running int
	// none is closed when none is under way any more.
	none chan struct{}
	// lost is when the last answer was lost; zero for never.
	lost time.Time
}

// begin notes that a commit is sent.
func (p *pending) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == 0 {
		p.none = make(chan struct{})
	}
	p.running++
}

// end notes the error of a commit that was sent.
func (p *pending) end(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if conversation.Unanswered(err) && conversation.DelayOf(err) == 0 {
		p.lost = time.Now()
	}
	if p.running--; p.running == 0 {
		close(p.none)
	}
}

// settled waits until no commit is under way, or until ctx is done, and reports whether none may still be stored. A write
// of a leader ends within leadership.Margin.
func (p *pending) settled(ctx context.Context) bool {
	p.mu.Lock()
	running, none := p.running, p.none
	p.mu.Unlock()
	if running > 0 {
		select {
		case <-none:
		case <-ctx.Done():
			return false
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running == 0 && time.Since(p.lost) >= leadership.Margin
}
