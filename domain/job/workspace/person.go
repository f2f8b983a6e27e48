package workspace

import (
	"fmt"
	"slices"
	"time"
)

// Rollback makes an earlier generation the current one, as a new generation with a fence of its own. Seen is the
// generation that the person saw as the current one.
func (w Workspace) Rollback(to, seen int64, by string, e Extent) (Workspace, error) {
	cannot := fmt.Sprintf("cannot roll %s back to generation %d", w.Name, to)
	err := ahead(w, e)
	at := slices.IndexFunc(w.Kept, func(g Generation) bool { return g.Number == to })
	switch {
	case w.Lock.Held():
		return w, fmt.Errorf("%s: %w: %s", cannot, ErrHeld, holder(w))
	case err != nil:
		return w, fmt.Errorf("%s: %w", cannot, err)
	case seen != w.State.Number:
		return w, fmt.Errorf("%s: %w: generation %d is current, not %d", cannot, ErrChanged, w.State.Number, seen)
	case to == w.State.Number:
		return w, fmt.Errorf("%s: %w: it is the current one", cannot, ErrInvalid)
	case at < 0:
		return w, fmt.Errorf("%s: %w: it is not kept: `orcon job state show %s` lists those that are", cannot, ErrInvalid, w.Name)
	}
	w.Fence++
	return advance(w, Generation{Blob: w.Kept[at].Blob, Accepted: true, Author: fmt.Sprintf("%s, from generation %d", by, to)}), nil
}

// Restored is a person's decision about a store that is ahead of the Workspace.
type Restored struct {
	// Newest is the archive of the newest generation that the store holds a record of.
	Newest Blob
	// Adopt makes it the current one. Otherwise the Workspace's own stays, and Newest is kept as an orphan.
	Adopt  bool
	By     string
	Extent Extent
	// Uploaded is as that of Verdict.
	Uploaded Blob
	Now      time.Time
}

// AcceptStore goes on although the store reaches further than the Workspace. A hold that the object remembers is
// over: its process belongs to the time before the restore. All new numbers are above those of the store.
func (w Workspace) AcceptStore(r Restored) (Workspace, error) {
	next, err := acceptStore(w, r)
	if err == nil {
		err = fits(next)
	}
	if err != nil {
		return w, fmt.Errorf("cannot accept the store of %s: %w", w.Name, err)
	}
	return next, nil
}

func acceptStore(w Workspace, r Restored) (Workspace, error) {
	switch {
	case ahead(w, r.Extent) == nil:
		return w, fmt.Errorf("%w: the store is not ahead", ErrSettled)
	case r.By == "":
		return w, fmt.Errorf("%w: no person is named", ErrInvalid)
	case r.Adopt && r.Newest.Key == "":
		return w, fmt.Errorf("%w: the store has no generation of this JobWorkspace: "+
			"`orcon job state adopt %s --because TEXT` takes over that of an earlier one",
			ErrInvalid, w.Name)
	}
	if w.Lock.Held() {
		w = abandon(keep(w, r.Uploaded, r.Now))
	}
	author := r.By + ", after a restore"
	top, blob := max(w.State.Number, r.Extent.Generation), w.State.Blob
	if r.Adopt {
		blob = r.Newest
	} else {
		w = orphan(w, Orphan{Blob: r.Newest, Base: w.State.Number, Author: author, Since: r.Now})
	}
	w = advance(w, Generation{Blob: blob, Accepted: true, Author: author})
	w.State.Number = top + 1
	w.Fence = max(w.Fence, r.Extent.Fence, 1)
	return w, nil
}

// Phase returns the word that a person sees first.
func (w Workspace) Phase(e Extent) Phase {
	switch {
	case ahead(w, e) != nil:
		return StoreAhead
	case w.Lock.Recovery.Reason != "" && !w.Lock.Safety.Expires():
		return NeedsRecovery
	case w.Lock.Held() && w.Lock.Claimant.ID == "":
		return Starting
	case w.Lock.Held():
		return Running
	case w.Startable(e) != nil:
		return NeedsAccept
	}
	return Ready
}

// Phase is the phase of a Workspace.
type Phase string

// The phases.
const (
	Ready         Phase = "Ready"
	Starting      Phase = "Starting"
	Running       Phase = "Running"
	NeedsRecovery Phase = "NeedsRecovery"
	NeedsAccept   Phase = "NeedsAccept"
	StoreAhead    Phase = "StoreAhead"
)

// OrphanAge is how long an orphan is kept that no person decides about.
const OrphanAge = 30 * 24 * time.Hour

// Forget returns the Workspace without orphans that are older than OrphanAge. Their archives may be deleted once this
// is stored.
func (w Workspace) Forget(now time.Time) Workspace {
	w.Orphans = slices.DeleteFunc(slices.Clone(w.Orphans), func(o Orphan) bool { return now.Sub(o.Since) > OrphanAge })
	return w
}
