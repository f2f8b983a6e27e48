package agent

import (
	"context"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/node/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor/offer"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// carry has an attempt carried out, or removed.
func (a *Agent) carry(ctx context.Context, one *wire.Attempt) error {
	switch {
	case one.GetOrder() == wire.Order_ORDER_REMOVE:
		return a.Executor.Remove(ctx, offer.Name(one))
	case one.GetProgram() == nil:
		return nil
	}
	return a.Executor.Start(ctx, offer.Attempt(one))
}

// reports describes attempts of the last answer. One that the executor does not have is not reported before it is started;
// one that was accepted and is not there any more is gone.
func (a *Agent) reports(ctx context.Context, attempts []*wire.Attempt) (all []*wire.Report) {
	for _, one := range attempts {
		sight, err := a.Executor.Look(ctx, offer.Name(one))
		if one.GetProgram() != nil && (err != nil || !sight.Made) {
			continue
		}
		if err != nil {
			sight = executor.Sight{Pod: run.Pod{Made: true, Obstacle: err.Error()}}
		}
		all = append(all, &wire.Report{Uid: one.GetUid(), Number: one.GetNumber(), Obstacle: sight.Obstacle, Phase: phaseOf(sight)})
	}
	return all
}

// phaseOf returns the phase of an attempt.
func phaseOf(s executor.Sight) wire.Phase {
	switch {
	case !s.Made:
		return wire.Phase_PHASE_GONE
	case s.Over:
		return wire.Phase_PHASE_OVER
	case s.Stopped:
		return wire.Phase_PHASE_STOPPED
	}
	return wire.Phase_PHASE_UNSPECIFIED
}
