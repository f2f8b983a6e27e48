package workspace

import (
	"errors"
	"fmt"
)

var (
	// ErrVoid means that a plan was made for another state or another input: another plan is to be made (JOBS.md J17).
	ErrVoid = errors.New("the plan is void")
	// ErrReplaced means that a plan is not the one that may be applied now, and no other plan need be made.
	ErrReplaced = errors.New("it is not the plan that waits")
)

// Plan is the archive that a run left to be applied as it is, once a person has approved it. A Workspace has the newest one.
type Plan struct {
	Blob

	// Run made the plan, Input is the digest of its frozen input.
	Run   Run
	Input string
	// Generation was the current one when the plan was stored.
	Generation int64
	// Applied is the Run that was admitted to apply the plan; the zero value for none.
	Applied Run
}

// Applicable returns why a Run may not apply the plan with a digest; nil if it may. A plan is applied once, and only to
// the state that it was made for.
func Applicable(w Workspace, digest string, by Run) error {
	p := w.Plan
	switch {
	case p.Digest == "":
		return fmt.Errorf("%w: %s has no plan: make one with `orcon job run %s --action plan`", ErrReplaced, w.Name, w.Name)
	case p.Digest != digest:
		return fmt.Errorf("%w: %s has made a newer one: `orcon job approve %s`", ErrReplaced, p.Run, Named(w, p.Run.Name))
	case p.Applied != Run{} && p.Applied != by:
		return fmt.Errorf("%w: %s was admitted to apply it: make another one with `orcon job run %s --action plan`",
			ErrReplaced, p.Applied, w.Name)
	case p.Generation != w.State.Number:
		return fmt.Errorf("%w: it was made for generation %d of the state, and %d is current", ErrVoid, p.Generation, w.State.Number)
	}
	return nil
}

// apply notes that a Run applies a plan; the digest "" is none.
func apply(w Workspace, digest string, by Run) (Workspace, error) {
	if digest == "" {
		return w, nil
	}
	if err := Applicable(w, digest, by); err != nil {
		return w, err
	}
	w.Plan.Applied = by
	return w, nil
}

// planned returns a Workspace after the end of a run, with the plan that it left.
func planned(w Workspace, c Capture) Workspace {
	if c.Plan.Key == "" || !c.Exit.Success() {
		return w
	}
	w.Plan = c.Plan
	w.Plan.Run, w.Plan.Generation, w.Plan.Applied = c.Run, w.State.Number, Run{}
	return w
}

// unapplied returns a Workspace whose plan may be applied by another Run, if no process of the one that holds the lock
// has started.
func unapplied(w Workspace) Workspace {
	if w.Plan.Applied == w.Lock.Run {
		w.Plan.Applied = Run{}
	}
	return w
}
