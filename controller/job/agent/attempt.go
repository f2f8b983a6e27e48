package agent

import (
	"context"
	"time"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/node/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/tooltype"
)

// nameOf returns the name of an attempt.
func nameOf(a *wire.Attempt) executor.Name {
	return executor.Name{Namespace: a.GetNamespace(), Run: a.GetRun(), UID: a.GetUid(), Number: int(a.GetNumber())}
}

// carry has an attempt carried out, or removed.
func (a *Agent) carry(ctx context.Context, one *wire.Attempt) error {
	if one.GetOrder() == wire.Order_ORDER_REMOVE {
		return a.Executor.Remove(ctx, nameOf(one))
	}
	p := one.GetProgram()
	if p == nil {
		return nil
	}
	return a.Executor.Start(ctx, executor.Attempt{
		Name: nameOf(one), Workspace: one.GetWorkspace(), Fence: one.GetFence(),
		Timing: job.Timing{Lost: seconds(p.GetLostSeconds()), Grace: seconds(p.GetGraceSeconds())},
		Input: run.Input{
			Artifact: run.Artifact{Image: p.GetImage()}, Entrypoint: p.GetEntrypoint(), Args: p.GetArgs(), Env: p.GetEnv(), Action: p.GetAction(),
			Type: tooltype.Type(p.GetType()), Files: run.Files{Exclude: p.GetExclude(), Rescue: p.GetRescue()},
		},
	})
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// reports describes attempts of the last answer. One that the executor does not have is not reported before it is started;
// one that was accepted and is not there any more is gone.
func (a *Agent) reports(ctx context.Context, attempts []*wire.Attempt) (all []*wire.Report) {
	for _, one := range attempts {
		sight, err := a.Executor.Look(ctx, nameOf(one))
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
