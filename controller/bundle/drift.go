package bundle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Drift returns how the cluster differs from the revision that stands, and which that is.
// It writes nothing.
func (e *Engine) Drift(ctx context.Context) (revision int, all []bundle.Difference, err error) {
	if err := e.Load(ctx); err != nil {
		return 0, nil, err
	}
	if revision = e.record.Active(); revision == 0 {
		return 0, nil, fmt.Errorf("cannot compare %s: it has no active revision: install it first", e.Owner)
	}
	p, err := e.Store.Plan(ctx, revision)
	if err != nil {
		return 0, nil, err
	}
	seen, err := e.Cluster.Observe(ctx, p.Sequence.Look(e.Owner, e.record, p.Sequence))
	if err != nil {
		return 0, nil, err
	}
	var refused []error
	for _, id := range slices.SortedFunc(maps.Keys(seen.Refused), bundle.ID.Compare) {
		refused = append(refused, fmt.Errorf("cannot compare %s: %w", id, seen.Refused[id]))
	}
	return revision, bundle.Drift(p, e.record, seen.Live), errors.Join(refused...)
}

// Between returns how the content of one revision differs from that of another.
func (e *Engine) Between(ctx context.Context, from, to int) (all []bundle.Difference, err error) {
	if err := e.Load(ctx); err != nil {
		return nil, err
	}
	before, err := e.Store.Plan(ctx, from)
	if err != nil {
		return nil, err
	}
	after, err := e.Store.Plan(ctx, to)
	if err != nil {
		return nil, err
	}
	return bundle.Compare(before.Sequence, after.Sequence), nil
}
