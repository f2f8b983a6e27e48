package health

import "time"

// Fate is the outcome of one pod of a workload: its node has accepted it, or it has failed. A pod that still waits for
// its node has none.
type Fate struct {
	Created time.Time
	// Failed reports that the pod has failed for good, so that its workload makes another one.
	Failed bool
}

// Outweighs reports whether a fate foretells the next pod better than another one: that of the newer pod, and of two
// pods of one second that of the one that has failed. So a failure counts until a later pod begins.
func (f Fate) Outweighs(other Fate) bool {
	if f.Created.Equal(other.Created) {
		return f.Failed && !other.Failed
	}
	return f.Created.After(other.Created)
}
