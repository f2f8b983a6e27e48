package keeper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// planning is the part of a run that makes a plan, or applies one (JOBS.md J17).
type planning struct{ *run }

// folder returns the folder of the plan.
func (p planning) folder() string { return filepath.Join(p.Settings.State, contract.PlanFolder) }

// prepare restores the plan that the template applies, or makes the folder for the one that it leaves.
func (p planning) prepare(ctx context.Context) error {
	if p.hold.Plans == (Plans{}) {
		return nil
	}
	if err := os.Mkdir(p.folder(), 0o700); err != nil {
		return fmt.Errorf("cannot make the folder of the plan: %w", err)
	}
	if p.hold.Plans.Apply == nil {
		return nil
	}
	return p.fetch(ctx, *p.hold.Plans.Apply, p.folder())
}

// errTornPlan is the error of a plan that something goes on to write.
var errTornPlan = errors.New("the plan changed while it was captured: a process outside of the container writes it")

// keep adds the plan that the template left to an end. One that cannot be kept is none, and the message has the reason.
func (p planning) keep(ctx context.Context, process exchange.Ended, e End) End {
	if !p.hold.Plans.Leave || process.Code != contract.Success || process.Killed || !e.Outcome.Releases() {
		return e
	}
	stored, err := p.store(ctx)
	if err != nil {
		e.Message = errors.Join(err, errors.New(e.Message)).Error()
	}
	e.Plan = stored
	return e
}

// store stores the plan that the template left; nil for none.
func (p planning) store(ctx context.Context) (*State, error) {
	a, err := p.packStill(ctx, parcel{folder: p.Settings.State, below: contract.PlanFolder, prefix: planPrefix}, p.Settings.Limit)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil //nolint:nilnil // there is none
	case err != nil:
		return nil, fmt.Errorf("cannot keep the plan: %w", err)
	}
	defer a.remove()
	switch {
	case a.empty:
		return nil, nil //nolint:nilnil // there is none
	case a.Torn:
		return nil, errTornPlan
	}
	var stored State
	err = p.persist(ctx, "store the plan", func() (err error) {
		stored, err = p.upload(ctx, a)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot keep the plan: %w", err)
	}
	return &stored, nil
}
