package status

import "time"

// Unwritten tells that the agent of a unit cannot write files. The zero value tells of nothing.
type Unwritten struct {
	// Text names the files and the reason.
	Text string
	// Since is when it was reported last, to the minute.
	Since time.Time
}
