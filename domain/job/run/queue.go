package run

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// Waiting is a Run whose status shows no end.
type Waiting struct {
	Run     workspace.Run
	Created time.Time
	// Cancelled reports that a person cancelled it.
	Cancelled bool
}

// Rank is the place of a Run in the queue.
type Rank struct {
	Run workspace.Run
	// Next reports that the Run may ask for the lock.
	Next bool
	// Ended is set for a Run that ends without the lock.
	Ended Status
	// Ahead are the Runs before it.
	Ahead int
}

// Queue returns the place of each Run that does not hold the lock and has not ended, in order of creation (JOBS.md J1).
// A Run that the Workspace records as its holder or last end is left out: Derive knows it.
func Queue(policy job.Concurrency, w workspace.Workspace, waiting []Waiting) []Rank {
	queue := slices.DeleteFunc(slices.Clone(waiting), func(r Waiting) bool { return r.Run == w.Lock.Run || r.Run == w.Last.Run })
	slices.SortFunc(queue, func(a, b Waiting) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Run.UID, b.Run.UID))
	})
	lasting := len(slices.DeleteFunc(slices.Clone(queue), func(r Waiting) bool { return r.Cancelled }))
	var ranks []Rank
	ahead := 0
	for _, r := range queue {
		p := Rank{Run: r.Run, Ahead: ahead}
		if w.Lock.Held() {
			p.Ahead++
		}
		switch {
		case r.Cancelled:
			p.Ended = unstarted(Cancelled, "Cancelled", "it was cancelled before it started")
		case policy == job.Reject && p.Ahead > 0:
			p.Ended = unstarted(Rejected, "Rejected", fmt.Sprintf("%s has concurrency Reject and another Run: wait for it, or set Queue", w.Name))
		case policy == job.SupersedeQueued && ahead < lasting-1:
			p.Ended = unstarted(Cancelled, reasonSuperseded, "a newer Run of "+w.Name+" was queued")
			lasting, ahead = lasting-1, ahead-1
		default:
			p.Next = p.Ahead == 0
		}
		if !r.Cancelled {
			ahead++
		}
		ranks = append(ranks, p)
	}
	return ranks
}

// unstarted returns the status of a Run that ends without a process.
func unstarted(phase Phase, reason, message string) Status {
	return Status{Phase: phase, Reason: reason, Message: message, Outcome: job.None, Exit: job.Exit{Cause: job.NotStarted}}
}
