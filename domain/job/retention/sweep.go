package retention

import (
	"slices"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// Age is the least age of the newest blob of a fence that is deleted: a holder that lost the lock may still upload.
const Age = 24 * time.Hour

// Prefix describes everything that the store holds below one fence of a Workspace.
type Prefix struct {
	Fence int64
	// Newest is when the last object below it was written.
	Newest time.Time
	// Logs reports that it has the logs of a Run that are kept.
	Logs bool
}

// Sweep returns the fences below which everything may be deleted: the current fence is higher, no generation,
// checkpoint or orphan lies below it, no logs that are kept, and it is old enough (JOBS.md J5). The Workspace must be read from the API
// server, not from a cache. Nothing is deleted while the store is ahead of it (JOBS.md J20), or while an archive may wait
// for room among its orphans.
func Sweep(w workspace.Workspace, e workspace.Extent, prefixes []Prefix, now time.Time) []int64 {
	if w.Phase(e) == workspace.StoreAhead || w.Crowded() {
		return nil
	}
	named := Named(w)
	var gone []int64
	for _, p := range prefixes {
		if !p.Logs && p.Fence < w.Fence && p.Fence != w.Lock.Fence && now.Sub(p.Newest) >= Age && !slices.Contains(named, p.Fence) {
			gone = append(gone, p.Fence)
		}
	}
	slices.Sort(gone)
	return gone
}

// Named returns the fences that the state of a Workspace refers to, sorted.
func Named(w workspace.Workspace) []int64 {
	fences := []int64{w.State.Fence, w.Checkpoint.Fence}
	for _, g := range w.Kept {
		fences = append(fences, g.Fence)
	}
	for _, o := range w.Orphans {
		if !o.Discarded {
			fences = append(fences, o.Fence)
		}
	}
	slices.Sort(fences)
	return slices.Compact(fences)
}
