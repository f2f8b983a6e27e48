package serve

import (
	"context"
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/runner"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// planning is the part of the API that hands plans out and receives them (JOBS.md J17).
type planning struct{ *API }

// applied returns the plan that a Run applies; nil for none.
func (a planning) applied(w workspace.Workspace, r Run) (*runner.State, error) {
	if r.Plan == "" {
		return nil, nil
	}
	if err := workspace.Applicable(w, r.Plan, w.Lock.Run); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", w.Lock.Run, err)
	}
	return a.stored(w.Plan.Blob)
}

// left returns the plan that an end comes with; the zero value for none.
func (a planning) left(ctx context.Context, c Caller, in runner.End) (workspace.Plan, error) {
	if in.Plan == nil {
		return workspace.Plan{}, nil
	}
	run, err := a.Runs.Frozen(ctx, c.Run.UID)
	if err == nil && run.Plans == "" {
		err = fmt.Errorf("cannot keep the plan of %s: %w: its action plans no other one", c.Run, workspace.ErrInvalid)
	}
	if err != nil {
		return workspace.Plan{}, err
	}
	archive, err := a.archive(ctx, c, in.Fence, in.Plan, planPrefix)
	return workspace.Plan{Blob: archive, Input: run.Plans}, err
}
