package workspace

import (
	"fmt"
	"slices"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
)

// Evidence describes a holder that seems lost.
type Evidence struct {
	// Fence is that of the hold that was watched.
	Fence int64
	// Silence is the time since the last renewal by the controller's own clock, which begins with its process.
	Silence time.Duration
	// Vanished means that the pod ended, or is gone, without an outcome.
	Vanished bool
	// Uploaded is the archive that the store holds below the fence although no end named it; the zero value for none.
	Uploaded Blob
	Now      time.Time
}

// Lose notes that a hold needs a person's decision, or its expiry. The lock stays: a holder that comes back may still
// end it.
func (w Workspace) Lose(e Evidence) (Workspace, error) {
	switch l := w.Lock; {
	case l.Fence != e.Fence || !l.Held():
		return w, fmt.Errorf("cannot give up fence %d of %s: %w", e.Fence, w.Name, ErrStale)
	case l.Recovery.Reason != "":
		return w, nil
	case l.Claimant.ID == "":
		return w, fmt.Errorf("cannot give up fence %d of %s: %w: nothing was started: replace or withdraw it", e.Fence, w.Name, ErrInvalid)
	case e.Vanished:
		w.Lock.Recovery = Recovery{Reason: Vanished, Exit: job.Exit{Cause: job.Unreported}}
	case e.Silence < l.Timing.Lost:
		return w, fmt.Errorf("cannot give up fence %d of %s: %w: silent for %s of %s", e.Fence, w.Name, ErrEarly, e.Silence, l.Timing.Lost)
	default:
		w.Lock.Recovery = Recovery{Reason: Silent, Exit: job.Exit{Cause: job.Unreported}}
	}
	return w, nil
}

// Expire releases the lock of a hold that is not exclusive, after a silence that is long enough for its holder
// to have stopped. What the store holds of it becomes an orphan.
func (w Workspace) Expire(e Evidence) (Workspace, error) {
	switch l := w.Lock; {
	case l.Fence != e.Fence || !l.Held():
		return w, fmt.Errorf("cannot release fence %d of %s: %w", e.Fence, w.Name, ErrStale)
	case !l.Safety.Expires():
		return w, fmt.Errorf("cannot release fence %d of %s: %w: the template is exclusive: %s", e.Fence, w.Name, ErrWaits, holder(w))
	case l.Claimant.ID == "":
		return w, fmt.Errorf("cannot release fence %d of %s: %w: nothing was started: replace or withdraw it", e.Fence, w.Name, ErrInvalid)
	case e.Silence < l.Timing.Takeover():
		return w, fmt.Errorf("cannot release fence %d of %s: %w: silent for %s of %s", e.Fence, w.Name, ErrEarly, e.Silence, l.Timing.Takeover())
	}
	next := abandon(keep(w, e.Uploaded, e.Now))
	if err := fits(next); err != nil {
		return w, fmt.Errorf("cannot release fence %d of %s: %w", e.Fence, w.Name, err)
	}
	return next, nil
}

// keep keeps what the store holds of a hold as orphans: an archive that no end named, and the last checkpoint.
func keep(w Workspace, uploaded Blob, now time.Time) Workspace {
	o := Orphan{Blob: uploaded, Base: w.Lock.Base, Author: w.Lock.Run.String(), Exit: w.Lock.Recovery.Exit, Since: now}
	w = orphan(w, o)
	o.Blob, o.Torn = w.Checkpoint.Blob, w.Checkpoint.Torn
	if o.Digest == w.State.Digest || o.Digest == uploaded.Digest {
		return w
	}
	return orphan(w, o)
}

// abandon releases the lock of a hold that was given up.
func abandon(w Workspace) Workspace {
	r := w.Lock.Recovery
	if r.Outcome == "" {
		r.Outcome, r.Exit = job.Unknown, job.Exit{Cause: job.Unreported}
	}
	return release(w, r.Outcome, r.Exit)
}

// Remedy is the verb of a person's decision.
type Remedy string

// The remedies.
const (
	// AcceptGeneration goes on from the current generation. A newer checkpoint is kept as an orphan. Without a hold it
	// accepts the state that a killed process left.
	AcceptGeneration Remedy = "generation"
	// AcceptCheckpoint makes the last checkpoint the next generation.
	AcceptCheckpoint Remedy = "checkpoint"
	// AcceptOrphan makes an orphan the next generation.
	AcceptOrphan Remedy = "orphan"
	// Retry begins the next attempt of the same Run, from the current generation.
	Retry Remedy = "retry"
	// Discard drops an orphan; or, without one, releases the lock and drops the checkpoint.
	Discard Remedy = "discard"
)

// Verdict is a person's decision about a hold that is lost, or about an orphan.
type Verdict struct {
	Remedy Remedy
	// Fence is that of the hold that the person saw, or of the last end. Seen is the current generation that the person
	// saw. What changed since is not decided about.
	Fence, Seen int64
	// Orphan is the key of the orphan that is accepted or discarded.
	Orphan string
	// Torn accepts a torn checkpoint.
	Torn bool
	// By is the person.
	By       string
	Extent   Extent
	Uploaded Blob
	Now      time.Time
}

// Propose returns what is proposed to a person: the last checkpoint if it is consistent and newer than the
// generation, otherwise the generation.
func Propose(w Workspace) Remedy {
	if w.Checkpoint.Sequence > 0 && !w.Checkpoint.Torn && w.Checkpoint.Digest != w.State.Digest {
		return AcceptCheckpoint
	}
	return AcceptGeneration
}

// Decide carries out a person's decision.
func (w Workspace) Decide(v Verdict) (Workspace, error) {
	next, err := decide(w, v)
	if err == nil {
		err = fits(next)
	}
	if err != nil {
		return w, fmt.Errorf("cannot decide %s for %s: %w", v.Remedy, w.Name, err)
	}
	return next, nil
}

// decide returns the Workspace after a decision that is allowed.
func decide(w Workspace, v Verdict) (Workspace, error) {
	if v.By == "" {
		return w, fmt.Errorf("%w: no person is named", ErrInvalid)
	}
	if err := ahead(w, v.Extent); err != nil {
		return w, err
	}
	if v.Seen != w.State.Number {
		return w, fmt.Errorf("%w: generation %d is current, not %d", ErrChanged, w.State.Number, v.Seen)
	}
	if v.Remedy == Discard && v.Orphan != "" {
		return discard(w, v.Orphan)
	}
	if !w.Lock.Held() {
		return decideFree(w, v)
	}
	switch {
	case w.Lock.Fence != v.Fence:
		return w, fmt.Errorf("%w: fence %d was decided about: %s", ErrStale, v.Fence, holder(w))
	case w.Lock.Recovery.Reason == "":
		return w, fmt.Errorf("%w: %s", ErrHeld, holder(w))
	}
	switch v.Remedy {
	case AcceptGeneration:
		return abandon(keep(w, v.Uploaded, v.Now)), nil
	case AcceptCheckpoint:
		return acceptCheckpoint(w, v)
	case AcceptOrphan:
		next, err := acceptOrphan(w, v)
		return abandon(keep(next, v.Uploaded, v.Now)), err
	case Retry:
		w = retry(keep(w, v.Uploaded, v.Now))
		w.Lock.GivenUp = true
		return w, nil
	case Discard:
		return abandon(w), nil
	}
	return w, fmt.Errorf("%w: unknown remedy", ErrInvalid)
}

// decideFree decides about the state of a Workspace without a hold.
func decideFree(w Workspace, v Verdict) (Workspace, error) {
	switch {
	case v.Remedy == AcceptOrphan:
		return acceptOrphan(w, v)
	case v.Remedy == AcceptGeneration && v.Fence == w.Last.Fence:
		w.State.Accepted = w.State.Accepted || w.State.Exit.Torn()
		return w, nil
	case v.Remedy == AcceptGeneration:
		return w, fmt.Errorf("%w: fence %d was decided about, but fence %d is the last that ended", ErrStale, v.Fence, w.Last.Fence)
	}
	return w, fmt.Errorf("%w: no run holds the lock", ErrStale)
}

// acceptCheckpoint makes the last checkpoint the next generation and releases the lock.
func acceptCheckpoint(w Workspace, v Verdict) (Workspace, error) {
	c := w.Checkpoint
	switch {
	case c.Sequence == 0:
		return w, fmt.Errorf("%w: the hold has no checkpoint: accept the generation or retry", ErrInvalid)
	case c.Torn && !v.Torn:
		return w, fmt.Errorf("%w: checkpoint %d is torn, since a process may have been writing: look at it with "+
			"`orcon job state diff %s`, then add --torn", ErrWaits, c.Sequence, w.Name)
	}
	exit := w.Lock.Recovery.Exit
	w.Checkpoint = Checkpoint{}
	w = keep(w, v.Uploaded, v.Now)
	w = advance(w, Generation{Blob: c.Blob, Exit: exit, Accepted: true, Author: w.Lock.Run.String() + ", accepted by " + v.By})
	return release(w, job.Committed, exit), nil
}

// acceptOrphan makes an orphan the next generation.
func acceptOrphan(w Workspace, v Verdict) (Workspace, error) {
	at := slices.IndexFunc(w.Orphans, func(o Orphan) bool { return o.Key == v.Orphan && !o.Discarded })
	if at < 0 {
		return w, fmt.Errorf("%w: there is no orphan %q: `orcon job state show %s` lists them", ErrInvalid, v.Orphan, w.Name)
	}
	o := w.Orphans[at]
	w = advance(w, Generation{Blob: o.Blob, Exit: o.Exit, Accepted: true, Author: o.Author + ", accepted by " + v.By})
	w.Orphans = slices.Delete(slices.Clone(w.Orphans), at, at+1)
	return w, nil
}

// discard marks an orphan for collection.
func discard(w Workspace, key string) (Workspace, error) {
	at := slices.IndexFunc(w.Orphans, func(o Orphan) bool { return o.Key == key })
	if at < 0 {
		return w, fmt.Errorf("%w: there is no orphan %q", ErrInvalid, key)
	}
	w.Orphans = slices.Clone(w.Orphans)
	w.Orphans[at].Discarded = true
	return w, nil
}
