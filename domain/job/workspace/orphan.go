package workspace

import (
	"fmt"
	"slices"
)

const (
	// MaxOrphans is the number of orphans that a Workspace holds.
	MaxOrphans = 1024
	// reserve is how many more must fit when a hold begins: what it leaves, and what comes late of those before.
	reserve = 24
)

// orphan returns a Workspace with one more orphan; one of a blob that is known changes nothing. A full Workspace
// drops its oldest discarded one. One that waits for a decision never gives way: see fits.
func orphan(w Workspace, o Orphan) Workspace {
	known := func(other Orphan) bool { return other.Key == o.Key }
	if o.Key == "" || committed(w, o.Blob) || slices.ContainsFunc(w.Orphans, known) {
		return w
	}
	all := append(slices.Clone(w.Orphans), o)
	if len(all) > MaxOrphans {
		if at := slices.IndexFunc(all, func(o Orphan) bool { return o.Discarded }); at >= 0 {
			all = slices.Delete(all, at, at+1)
		}
	}
	w.Orphans = all
	return w
}

// fits returns an error if a Workspace has more orphans than it may hold. A change that leads there waits until a
// person has discarded some: nothing that waits for a decision is dropped.
func fits(w Workspace) error {
	if len(w.Orphans) <= MaxOrphans {
		return nil
	}
	return crowded(w)
}

// crowded returns the error of a Workspace with too many orphans.
func crowded(w Workspace) error {
	return fmt.Errorf("%w: %d orphans wait for a decision: look at them with `orcon job state show %s`, then "+
		"`orcon job state discard %s DIGEST --because TEXT`", ErrWaits, w.undecided(), w.Name, w.Name)
}

// undecided returns how many orphans wait for a decision.
func (w Workspace) undecided() (n int) {
	for _, o := range w.Orphans {
		if !o.Discarded {
			n++
		}
	}
	return n
}

// Crowded reports whether so many orphans wait for a decision that no hold may begin. An archive may wait for room in
// the Workspace then, so that the collector deletes nothing.
func (w Workspace) Crowded() bool { return w.undecided() > MaxOrphans-reserve }
