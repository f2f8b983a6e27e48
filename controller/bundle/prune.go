package bundle

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// prune deletes what the plan deletes, in reverse order, until it is gone. The error says
// what is not, and why: it stays in the inventory, and goes another time.
func (e *Engine) prune(ctx context.Context, p bundle.Plan, revision int) error {
	until := e.Now().Add(e.timeout())
	for {
		pruned, err := e.pruneOnce(ctx, p, revision)
		switch {
		case err != nil && ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, errStored), errors.Is(err, ErrFinalJob):
			return err
		case err == nil && pruned.Done():
			return nil
		case err == nil && len(pruned.Delete)+len(pruned.Waits) == 0:
			continue // what is gone is forgotten, and nothing is left to wait for
		}
		for _, w := range pruned.Waits {
			err = errors.Join(err, fmt.Errorf("cannot delete %s", w))
		}
		if late := e.rest(ctx, until, err); late != nil {
			return late
		}
	}
}

// pruneOnce does one step of prune, and stores which objects are gone and which were not deleted.
func (e *Engine) pruneOnce(ctx context.Context, p bundle.Plan, revision int) (bundle.Pruned, error) {
	if err := e.Store.Unmoved(ctx); err != nil {
		return bundle.Pruned{}, stored(err)
	}
	if waits, err := newFinishing(e, p).step(ctx); err != nil || len(waits) > 0 {
		return bundle.Pruned{Waits: waits}, err
	}
	seen, err := e.Cluster.Observe(ctx, e.leaving(p))
	if err != nil {
		e.tell(Progress{Revision: revision, Trouble: err})
		return bundle.Pruned{}, err
	}
	for id, l := range seen.Live {
		rejection, _ := e.record.Rejected.Of(id)
		l.Says, l.Log, l.Since = rejection.Why, bundle.Log{}, rejection.Since
		seen.Live[id] = l
	}
	pruned := bundle.Prune(p, e.record, seen.Live)
	e.tell(Progress{Revision: revision, Next: bundle.Next{Outcome: bundle.Progressing, Delete: pruned.Delete, Waits: pruned.Waits}})
	refused := e.Cluster.Delete(ctx, pruned.Delete)
	if ctx.Err() != nil {
		return pruned, context.Cause(ctx)
	}
	record := e.record.Drop(pruned.Gone...)
	record.Rejected = record.Rejected.Note(deleted(pruned, refused), refused, e.Now())
	if len(pruned.Gone) > 0 || !slices.Equal(record.Rejected, e.record.Rejected) {
		err = stored(e.save(ctx, record, nil))
	}
	return pruned, err
}

// deleted are the objects whose deletion is under way or done.
func deleted(p bundle.Pruned, refused map[bundle.ID]error) []bundle.ID {
	all := slices.Clone(p.Gone)
	for _, d := range p.Delete {
		if refused[d.ID] == nil {
			all = append(all, d.ID)
		}
	}
	return all
}

// leaving asks for what is in the inventory and not in the plan's bundle.
func (e *Engine) leaving(p bundle.Plan) bundle.Look {
	stays := map[bundle.ID]bool{}
	for _, item := range p.Sequence {
		stays[item.ID] = true
	}
	look := bundle.Look{Uses: true}
	for _, entry := range e.record.Inventory {
		if !stays[entry.ID] {
			look.Read = append(look.Read, entry.ID)
		}
	}
	return look
}
