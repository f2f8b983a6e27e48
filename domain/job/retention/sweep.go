package retention

import (
	"slices"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

const (
	// Age is the least age of the newest blob of a fence that is deleted: a holder that lost the lock may still upload.
	Age = 24 * time.Hour
	// LeftAge is how long the store keeps the states of a deleted Workspace.
	LeftAge = 90 * 24 * time.Hour
)

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
	if !Sweepable(w, e) {
		return nil
	}
	named := Named(w)
	var gone []int64
	for _, p := range prefixes {
		if !p.Logs && past(w, p.Fence, p.Newest, now) && !slices.Contains(named, p.Fence) {
			gone = append(gone, p.Fence)
		}
	}
	slices.Sort(gone)
	return gone
}

// Sweepable reports whether anything of a Workspace may be deleted.
func Sweepable(w workspace.Workspace, e workspace.Extent) bool {
	return w.Phase(e) != workspace.StoreAhead && !w.Crowded()
}

// past reports whether a fence can get no more blobs.
func past(w workspace.Workspace, fence int64, stored, now time.Time) bool {
	return fence < w.Fence && fence != w.Lock.Fence && now.Sub(stored) >= Age
}

// Archive is a stored archive of a state, or of a plan.
type Archive struct {
	Key    string
	Fence  int64
	Stored time.Time
}

// Archives returns the keys of the archives that may be deleted although their fence stays, under the conditions of Sweep:
// those that no generation, checkpoint, orphan or plan refers to, such as earlier checkpoints, and uploads whose
// end never came.
func Archives(w workspace.Workspace, e workspace.Extent, archives []Archive, now time.Time) []string {
	if !Sweepable(w, e) {
		return nil
	}
	named := blobs(w)
	var gone []string
	for _, a := range archives {
		refers := func(b workspace.Blob) bool { return b.Key == a.Key }
		if past(w, a.Fence, a.Stored, now) && !slices.ContainsFunc(named, refers) {
			gone = append(gone, a.Key)
		}
	}
	return gone
}

// Named returns the fences that the state of a Workspace refers to, sorted.
func Named(w workspace.Workspace) []int64 {
	var fences []int64
	for _, b := range blobs(w) {
		fences = append(fences, b.Fence)
	}
	slices.Sort(fences)
	return slices.Compact(fences)
}

// blobs returns the archives that the state of a Workspace refers to.
func blobs(w workspace.Workspace) []workspace.Blob {
	all := []workspace.Blob{w.State.Blob, w.Checkpoint.Blob, w.Plan.Blob}
	for _, g := range w.Kept {
		all = append(all, g.Blob)
	}
	for _, o := range w.Orphans {
		if !o.Discarded {
			all = append(all, o.Blob)
		}
	}
	return all
}
