package workspace

import (
	"errors"
	"fmt"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
)

// Admission asks for the lock.
type Admission struct {
	Run Run
	// Published is the fence of the last end that the caller saw in the status of its Run; 0 for none. It must be that
	// of the Workspace: otherwise that end would be lost, and a Run that has ended could be admitted again.
	Published int64
	// Plan is the digest of the plan that the Run applies; "" for none.
	Plan   string
	Extent Extent
	Now    time.Time
}

// Acquire gives a free lock to a Run, with the next fence, which is above all that are known, since the store is
// not ahead. The holder of the lock gets the same answer again. A person may push a state in place of
// one that a killed process left.
func (w Workspace) Acquire(a Admission) (Workspace, error) {
	switch {
	case a.Run.UID == "":
		return w, fmt.Errorf("cannot start %s: %w: it has no UID", a.Run, ErrInvalid)
	case w.Lock.Run == a.Run:
		return w, nil
	case w.Last.Run == a.Run:
		return w, fmt.Errorf("cannot start %s: %w: it has ended", a.Run, ErrStale)
	}
	err := w.Startable(a.Extent)
	if replaces := a.Run.Person && errors.Is(err, ErrWaits); err != nil && !replaces {
		return w, fmt.Errorf("cannot start %s: %w", a.Run, err)
	}
	if a.Published != w.Last.Fence {
		return w, fmt.Errorf("cannot start %s: %w: the status of %s does not show its end: wait for the controller",
			a.Run, ErrHeld, w.Last.Run)
	}
	if w, err = apply(w, a.Plan, a.Run); err != nil {
		return w, fmt.Errorf("cannot start %s: %w", a.Run, err)
	}
	w.Fence++
	w.Checkpoint = Checkpoint{}
	w.Lock = Lock{
		Run: a.Run, Attempt: 1, Fence: w.Fence, Base: w.State.Number, Since: a.Now, Safety: w.Terms.Safety, Timing: w.Terms.Timing,
	}
	if a.Run.Person { // nothing runs but a request to the jobs API
		w.Lock.Safety, w.Lock.Claimant = job.Idempotent, Claimant{ID: a.Run.UID, Where: "the jobs API"}
	}
	return w, nil
}

// Startable returns why no hold may begin now; nil if one may.
func (w Workspace) Startable(e Extent) error {
	switch err := ahead(w, e); {
	case w.Lock.Held():
		return fmt.Errorf("%w: %s", ErrHeld, holder(w))
	case err != nil:
		return err
	case w.Crowded():
		return crowded(w)
	case w.Terms.Safety.Expires() || !w.State.Exit.Torn() || w.State.Accepted:
		return nil
	}
	return fmt.Errorf("%w: generation %d may be incomplete, since its process ended with %s: look at it with `orcon job state show %[4]s`, "+
		"then `orcon job state accept %[4]s --because TEXT` or `orcon job state rollback %[4]s --because TEXT`",
		ErrWaits, w.State.Number, w.State.Exit, w.Name)
}

// ahead returns an error if the store reaches further than the Workspace, as after the restore of an older object, or if
// it has the state of an earlier one and no person has decided about that.
func ahead(w Workspace, e Extent) error {
	if e.Left > 0 && w.Fence == 0 {
		return fmt.Errorf("%w: a JobWorkspace of the name %s, which is gone, left generation %d there: take it over with "+
			"`orcon job state adopt %s --because TEXT`, or begin empty with `orcon job state accept %s --because TEXT --store ignore`",
			ErrAhead, w.Name, e.Left, w.Name, w.Name)
	}
	if e.Fence <= w.Fence && e.Generation <= w.State.Number {
		return nil
	}
	return fmt.Errorf("%w: it holds generation %d and fence %d, but the Workspace knows %d and %d, as after a restore: compare with "+
		"`orcon job state diff %s`, then `orcon job state accept %s --because TEXT --store newest` or `--store ignore`",
		ErrAhead, e.Generation, e.Fence, w.State.Number, w.Fence, w.Name, w.Name)
}

// holder describes the hold, since when, and the command that helps.
func holder(w Workspace) string {
	l := w.Lock
	text := fmt.Sprintf("%s (attempt %d, fence %d) holds the lock of %s since %s", l.Run, l.Attempt, l.Fence, w.Name,
		l.Since.UTC().Format(time.RFC3339))
	if l.Claimant.Where != "" {
		text += " on " + l.Claimant.Where
	}
	switch {
	case l.Recovery.Reason != "":
		return text + " and needs a decision: `orcon job unlock " + w.Name + " --because TEXT`"
	case l.Run.Person:
		return text + ": wait for it"
	}
	return text + ": wait for it, or `orcon job cancel " + Named(w, l.Run.Name) + "`"
}

// Start asks to start the process of an attempt.
type Start struct {
	Run      Run
	Attempt  int
	Claimant Claimant
	// Recorded is the claimant that the store's record of the fence names; empty for none. The record is written once,
	// before the claim is stored: a Workspace that was restored to a time before the claim gives no second one.
	Recorded string
	Extent   Extent
}

// Claim writes into the lock who starts the process, before it starts (JOBS.md J10). The same claimant gets
// the same answer again; any other one, and one of another attempt, starts nothing.
func (w Workspace) Claim(s Start) (Workspace, error) {
	cannot := fmt.Sprintf("cannot start attempt %d of %s on %s", s.Attempt, s.Run, s.Claimant.Where)
	switch {
	case s.Claimant.ID == "":
		return w, fmt.Errorf("%s: %w: the claimant has no ID", cannot, ErrInvalid)
	case !w.Lock.Held():
		return w, fmt.Errorf("%s: %w: it no longer holds the lock of %s", cannot, ErrStale, w.Name)
	case w.Lock.Run != s.Run || w.Lock.Attempt != s.Attempt:
		return w, fmt.Errorf("%s: %w: %s", cannot, ErrHeld, holder(w))
	case w.Lock.Claimant.ID == s.Claimant.ID:
		return w, nil
	case w.Lock.Claimant.ID != "", s.Recorded != "" && s.Recorded != s.Claimant.ID:
		return w, fmt.Errorf("%s: %w: %s", cannot, ErrHeld, holder(w))
	}
	if err := ahead(w, s.Extent); err != nil {
		return w, fmt.Errorf("%s: %w", cannot, err)
	}
	w.Lock.Claimant = s.Claimant
	return w, nil
}

// Replace begins the next attempt of a Run whose pod never started, with a fence of its own. Attempt is the one to
// be replaced; a repeated request changes nothing. Recorded is as that of Start: a claim that the store knows is to be
// completed first.
func (w Workspace) Replace(r Run, attempt int, recorded string, e Extent) (Workspace, error) {
	switch {
	case !w.Lock.Held() || w.Lock.Run != r || w.Lock.Attempt < attempt:
		return w, fmt.Errorf("cannot replace attempt %d of %s: %w: it does not hold the lock", attempt, r, ErrStale)
	case w.Lock.Attempt > attempt:
		return w, nil
	case w.Lock.Claimant.ID != "", recorded != "":
		return w, fmt.Errorf("cannot replace attempt %d of %s: %w: its process may have started: %s", attempt, r, ErrHeld, holder(w))
	}
	if err := ahead(w, e); err != nil {
		return w, fmt.Errorf("cannot replace attempt %d of %s: %w", attempt, r, err)
	}
	return retry(w), nil
}

// retry returns a Workspace whose holder begins its next attempt, from the current generation.
func retry(w Workspace) Workspace {
	w.Fence++
	w.Checkpoint = Checkpoint{}
	w.Lock.Attempt++
	w.Lock.Fence, w.Lock.Base = w.Fence, w.State.Number
	w.Lock.Claimant, w.Lock.Recovery = Claimant{}, Recovery{}
	return w
}

// Withdraw ends the hold of a Run that was cancelled before its process started. Once it is claimed, the holder
// ends it. Recorded is as that of Replace.
func (w Workspace) Withdraw(r Run, recorded string) (Workspace, error) {
	switch {
	case w.Last.Run == r:
		return w, nil
	case w.Lock.Run != r:
		return w, fmt.Errorf("cannot withdraw %s: %w: it does not hold the lock", r, ErrStale)
	case w.Lock.Claimant.ID != "", recorded != "":
		return w, fmt.Errorf("cannot withdraw %s: %w: %s", r, ErrHeld, holder(w))
	}
	outcome, exit := w.Lock.sum(job.None, job.Exit{Cause: job.NotStarted})
	return release(w, outcome, exit), nil
}
