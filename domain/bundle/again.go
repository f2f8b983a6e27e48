package bundle

import (
	"cmp"
	"time"
)

// longestPause is the longest time between two looks at a revision that waits.
const longestPause = 10 * time.Second

// Again returns how long a revision that waits is left alone before the next look: a tenth of
// the time for which nothing has changed, at least least and at most 10 seconds, and never
// beyond the deadline of an object that it waits for.
func (n Next) Again(pace Pace, least time.Duration) time.Duration {
	pause, deadline := longestPause, cmp.Or(pace.Deadline, defaultDeadline)
	for _, w := range n.Waits {
		if w.Since.IsZero() {
			continue
		}
		waited := pace.Now.Sub(w.Since)
		pause = min(pause, waited/10)
		if left := deadline - waited; left > 0 {
			pause = min(pause, left)
		}
	}
	return max(pause, least)
}
