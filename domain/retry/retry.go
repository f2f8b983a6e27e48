// Package retry holds how long to wait before what has failed is tried again, and which failures are logged meanwhile.
//
// What must not come in: what is tried, clocks, and what controllers retry through their queue.
package retry

import "time"

// The pause before the next attempt doubles from the first to the last.
const first, last = time.Second, 5 * time.Minute

// After returns how long to wait after so many failed attempts in a row.
func After(attempts int) time.Duration {
	const doublings = 9
	return min(last, first<<min(max(attempts-1, 0), doublings))
}
