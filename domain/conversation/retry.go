package conversation

import "time"

// The pause before a handler that failed is called again: it doubles from the
// first to the last.
const (
	firstRetry = time.Second
	lastRetry  = 5 * time.Minute
)

// RetryAfter is how long to wait after so many failed attempts at one event before
// it is told again.
func RetryAfter(attempts int) time.Duration {
	const doublings = 9
	return min(lastRetry, firstRetry<<min(max(attempts-1, 0), doublings))
}
