package bundle

import (
	"context"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Interrupted reads what is stored, and reports whether a run was interrupted that Resume
// goes on with, be it that only what left the bundle is still there.
func (e *Engine) Interrupted(ctx context.Context) (bool, error) {
	if err := e.Load(ctx); err != nil {
		return false, err
	}
	last := e.record.Last()
	if e.Unfinished() || last.State != bundle.StateSucceeded {
		return e.Unfinished(), nil
	}
	p, err := e.Store.Plan(ctx, last.Number)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(p.Actions, func(a bundle.Action) bool {
		leaves := a.Verb == bundle.Delete || a.Verb == bundle.GiveBack
		return leaves && slices.ContainsFunc(e.record.Inventory, func(entry bundle.Entry) bool { return entry.ID == a.ID })
	}), nil
}
