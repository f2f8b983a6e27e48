package workspace

import (
	"cmp"
	"fmt"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
)

// Save is a checkpoint that a holder has stored.
type Save struct {
	Run        Run
	Checkpoint Checkpoint
}

// Save keeps the newest consistent checkpoint of the hold, or the newest torn one before there is one. An older one changes
// nothing, so that they may come again in any order.
func (w Workspace) Save(s Save) (Workspace, error) {
	if err := holds(w, s.Run, s.Checkpoint.Fence); err != nil {
		return w, fmt.Errorf("cannot keep checkpoint %d of %s: %w", s.Checkpoint.Sequence, s.Run, err)
	}
	known := w.Checkpoint
	if s.Checkpoint.Sequence <= known.Sequence || s.Checkpoint.Torn && known.Sequence > 0 && !known.Torn {
		return w, nil
	}
	w.Checkpoint = s.Checkpoint
	return w, nil
}

// holds returns an error unless a Run holds the lock with the fence, and its process was claimed.
func holds(w Workspace, r Run, fence int64) error {
	switch l := w.Lock; {
	case l.Run == r && l.Fence == fence && l.Claimant.ID != "":
		return nil
	case !l.Held():
		return fmt.Errorf("%w: fence %d of %s no longer holds the lock of %s", ErrStale, fence, r, w.Name)
	}
	return fmt.Errorf("%w: fence %d: %s", ErrStale, fence, holder(w))
}

// Capture is the end of a process and what became of its state.
type Capture struct {
	Run   Run
	Fence int64
	// Author is who made the state; "" for the Run.
	Author string
	// Base is the generation that the process began from.
	Base    int64
	Outcome job.Outcome
	// Blob is the archive of a state that is Committed or Orphaned. The caller has seen that the store holds it.
	Blob Blob
	// Plan has the archive of a plan and the digest of the input that it was made with; the zero value for none.
	Plan Plan
	Exit job.Exit
	// Extent is how far the store reaches without this archive.
	Extent Extent
	// Now is when the end arrived; orphans are kept for a time.
	Now time.Time
}

// End ends a hold: pointer, lock and last end are one write. Holder, fence and base must match (JOBS.md J3). A
// committed state that equals the current one is Unchanged; one that comes while the store is ahead is Orphaned, because
// the next number may be taken (JOBS.md J20). An outcome that does not release the lock is kept for a person's decision.
// The answer to a repeated end is the recorded outcome.
//
// With ErrStale the returned Workspace is to be stored as well if it differs: it keeps the archive as an orphan. An end
// without an archive is Unknown then.
func (w Workspace) End(c Capture) (Workspace, job.Outcome, error) {
	if err := c.check(); err != nil {
		return w, "", err
	}
	if known := recorded(w, c); known != "" {
		return w, known, nil
	}
	err := holds(w, c.Run, c.Fence)
	if err == nil && c.Base != w.Lock.Base {
		err = fmt.Errorf("%w: it began from generation %d, but fence %d begins from %d", ErrStale, c.Base, c.Fence, w.Lock.Base)
	}
	if err != nil {
		return late(w, c, err)
	}
	reason := CaptureFailed
	switch {
	case c.Outcome == job.Orphaned: // a holder keeps its own state as an orphan for no other reason
		reason = StateTooLarge
	case c.Outcome == job.Committed && c.Blob.Digest == w.State.Digest:
		c.Outcome = job.Unchanged
	case c.Outcome == job.Committed && ahead(w, c.Extent) != nil:
		c.Outcome = job.Orphaned
	}
	switch {
	case c.Outcome == job.Committed:
		w = advance(w, Generation{Blob: c.Blob, Exit: c.Exit, Author: cmp.Or(c.Author, c.Run.String())})
	case !c.Outcome.Releases():
		return unresolved(w, c, reason)
	}
	if c.Outcome == job.Unchanged && c.Exit.Torn() {
		w.State.Exit, w.State.Accepted = c.Exit, false
	}
	outcome, exit := w.Lock.sum(c.Outcome, c.Exit)
	return planned(release(w, outcome, exit), c), outcome, nil
}

// late answers an end whose hold is past, for a reason: its archive becomes an orphan.
func late(w Workspace, c Capture, reason error) (Workspace, job.Outcome, error) {
	if !c.stored() {
		return w, job.Unknown, fmt.Errorf("cannot end %s: %w", c.Run, reason)
	}
	next := orphan(w, c.orphan())
	if err := fits(next); err != nil {
		return w, "", fmt.Errorf("cannot keep the state of %s: %w", c.Run, err)
	}
	return next, job.Orphaned, fmt.Errorf("cannot commit the state of %s: %w: it is kept as an orphan: `orcon job state diff %s`",
		c.Run, reason, w.Name)
}

// unresolved keeps the lock for a person's decision, for a reason, and the archive as an orphan.
func unresolved(w Workspace, c Capture, reason Reason) (Workspace, job.Outcome, error) {
	next := orphan(w, c.orphan())
	if err := fits(next); err != nil {
		return w, "", fmt.Errorf("cannot keep the state of %s: %w", c.Run, err)
	}
	next.Lock.Recovery = Recovery{reason, c.Outcome, c.Exit}
	return next, c.Outcome, nil
}

// recorded returns the outcome of an end whose effect is done; empty for a new one.
func recorded(w Workspace, c Capture) job.Outcome {
	last := w.Last.Fence == c.Fence && w.Last.Run == c.Run
	switch {
	case c.stored() && committed(w, c.Blob):
		return job.Committed
	case last && (!c.stored() || w.Last.Outcome == job.Unchanged):
		return w.Last.Outcome
	}
	return ""
}

// stored reports whether the end comes with an archive.
func (c Capture) stored() bool { return c.Outcome == job.Committed || c.Outcome == job.Orphaned }

// check returns what is wrong with an end by itself.
func (c Capture) check() error {
	switch {
	case c.Outcome == "" || c.Outcome == job.None && c.Exit.Cause != job.NotStarted:
		return fmt.Errorf("cannot end %s: %w: outcome %q with %s", c.Run, ErrInvalid, c.Outcome, c.Exit)
	case c.stored() && (c.Blob.Digest == "" || c.Blob.Key == "" || c.Blob.Fence != c.Fence):
		return fmt.Errorf("cannot end %s: %w: a state that is %s needs an archive below fence %d", c.Run, ErrInvalid, c.Outcome, c.Fence)
	case c.Plan.Key != "" && (c.Plan.Digest == "" || c.Plan.Fence != c.Fence || c.Plan.Input == ""):
		return fmt.Errorf("cannot end %s: %w: a plan needs an archive below fence %d and an input", c.Run, ErrInvalid, c.Fence)
	}
	return nil
}

// orphan returns the archive as an orphan; the zero value if there is none.
func (c Capture) orphan() Orphan {
	return Orphan{Blob: c.Blob, Base: c.Base, Author: c.Run.String(), Exit: c.Exit, Since: c.Now}
}
