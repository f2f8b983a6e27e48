package bundle

import (
	"context"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Kept is the state of a revision that has succeeded.
type Kept struct {
	bundle.Next

	// Drift are the objects that others have changed or deleted.
	Drift []bundle.Drifted
	// Pruned is the state of what left the bundle.
	Pruned bundle.Pruned
}

// Keep looks at what the newest revision consists of, if that has succeeded, and puts
// right what others have changed, unless it only reports it (BUNDLES.md 12). Then it deletes
// what left the bundle, one step of it, and what could not be deleted before. ok is false
// where there is nothing to keep.
func (e *Engine) Keep(ctx context.Context, report bool) (k Kept, ok bool, err error) {
	last := e.record.Begun()
	if last.State != bundle.StateSucceeded {
		return k, false, nil
	}
	p, err := e.Store.Plan(ctx, last.Number)
	if err != nil {
		return k, false, err
	}
	c := e.carrying(p, p.Sequence)
	live, err := c.observe(ctx)
	if err != nil {
		return k, true, err
	}
	k.Next = bundle.Correct(p, e.record, live, bundle.Pace{Now: e.Now(), Deadline: e.Patience})
	k.Drift = k.Drifted(live)
	if !report {
		e.correct(ctx, &k)
	}
	k.Pruned, err = e.settleOnce(ctx, p, last.Number)
	k.Waits = append(k.Waits, k.Pruned.Waits...)
	return k, true, err
}

// correct undoes what others have changed.
func (e *Engine) correct(ctx context.Context, k *Kept) {
	_, refused := e.Cluster.Apply(ctx, k.Apply)
	for id, why := range refused {
		k.Failures = append(k.Failures, bundle.Failure{ID: id, Why: "cannot be corrected: " + why.Error()})
	}
	slices.SortFunc(k.Failures, func(a, b bundle.Failure) int { return a.ID.Compare(b.ID) })
}

// settleOnce tries to delete what is left of earlier revisions, and does not wait for it.
func (e *Engine) settleOnce(ctx context.Context, p bundle.Plan, revision int) (bundle.Pruned, error) {
	if len(e.leaving(p).Read) == 0 {
		return bundle.Pruned{}, nil
	}
	refused := refusals{}
	pruned, err := e.pruneOnce(ctx, p, revision, refused)
	for id, r := range refused {
		pruned.Waits = append(pruned.Waits, bundle.Wait{ID: id, For: r.Says, Since: r.Since})
	}
	return pruned, err
}
