package bundle

import (
	"context"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Kept is the state of a revision that has succeeded (BUNDLES.md 12).
type Kept struct {
	bundle.Next

	// Drift are the objects that others have changed or deleted.
	Drift []bundle.Drifted
	// Pruned is the state of objects that left the bundle.
	Pruned bundle.Pruned

	engine   *Engine
	plan     bundle.Plan
	revision int
}

// Look compares what the newest revision consists of with the cluster, if that revision has
// succeeded; nil where there is nothing to keep.
func (e *Engine) Look(ctx context.Context) (*Kept, error) {
	last := e.record.Begun()
	if last.State != bundle.StateSucceeded {
		return nil, nil //nolint:nilnil // there is nothing to keep
	}
	p, err := e.Store.Plan(ctx, last.Number)
	if err != nil {
		return nil, err
	}
	cache := (&Cache{}).of(last)
	cache.plan, cache.before = &p, p.Sequence
	live, err := (&looking{Engine: e, cache: cache, began: e.Now(), record: e.record}).observe(ctx)
	if err != nil {
		return nil, err
	}
	k := &Kept{engine: e, plan: p, revision: last.Number}
	k.Next = bundle.Correct(p, e.record, live, bundle.Pace{Now: e.Now(), Deadline: e.Patience})
	k.Drift = k.Drifted(live)
	return k, nil
}

// Correct undoes what others have changed. The error is that the record cannot be written.
func (k *Kept) Correct(ctx context.Context) error {
	if err := (&looking{Engine: k.engine}).overwrite(ctx, k.Apply); err != nil {
		return err
	}
	_, refused := k.engine.Cluster.Apply(ctx, k.Apply)
	for id, why := range refused {
		k.Failures = append(k.Failures, bundle.Failure{ID: id, Why: "cannot be corrected: " + why.Error()})
	}
	slices.SortFunc(k.Failures, func(a, b bundle.Failure) int { return a.ID.Compare(b.ID) })
	return nil
}

// Settle labels objects and deletes what is left of earlier revisions, one step of it, and waits
// for none of it. An object that cannot be labelled is only not watched.
func (k *Kept) Settle(ctx context.Context) (err error) {
	for writes := range slices.Chunk(k.Relabel, writesAtOnce) {
		if past(k.engine.Until, k.engine.Now()) {
			break
		}
		k.engine.Cluster.Apply(ctx, writes)
	}
	if len(k.engine.leaving(k.plan).Read) == 0 {
		return nil
	}
	k.Pruned, err = k.engine.pruneOnce(ctx, k.plan, k.revision)
	k.Waits = append(k.Waits, k.Pruned.Waits...)
	return err
}
