package retention

import (
	"cmp"
	"slices"
	"time"
)

// DefaultRuns is the number of ended Runs of a Workspace that stay as objects.
const DefaultRuns = 10

// Ended is a Run that has ended.
type Ended struct {
	UID   string
	Ended time.Time
	// Last reports that it is the last end that the Workspace records.
	Last bool
	// Drained reports that all chunks of its logs, and its manifest, are stored.
	Drained bool
}

// Runs returns the UIDs of Runs whose objects may be deleted, oldest first: more than keep are newer, and nothing of
// them is still to be stored. A keep of 0 means DefaultRuns.
func Runs(ended []Ended, keep int) []string {
	if keep <= 0 {
		keep = DefaultRuns
	}
	var gone []string
	for _, r := range newestFirst(ended)[min(keep, len(ended)):] {
		if r.Drained && !r.Last {
			gone = append(gone, r.UID)
		}
	}
	slices.Reverse(gone)
	return gone
}

// newestFirst returns Runs in order of their ends, those of one time by UID.
func newestFirst(ended []Ended) []Ended {
	return slices.SortedFunc(slices.Values(ended), func(a, b Ended) int {
		return cmp.Or(b.Ended.Compare(a.Ended), cmp.Compare(a.UID, b.UID))
	})
}
