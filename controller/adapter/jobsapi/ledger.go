package jobsapi

import (
	"cmp"
	"context"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/runner"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
)

// Claim implements keeper.Ledger.
func (c *Client) Claim(ctx context.Context, claimant keeper.Claimant) (keeper.Hold, error) {
	var h runner.Hold
	if err := c.call(ctx, "claim", runner.Claim{Attempt: claimant.Attempt, Place: claimant.Place}, &h); err != nil {
		return keeper.Hold{}, err
	}
	hold := keeper.Hold{
		Workspace: h.Workspace, Fence: h.Fence, Sequence: h.Sequence, Generation: h.Generation, Parameters: h.Parameters,
		Environment: h.Environment, Exclusive: h.Exclusive, Lost: seconds(h.LostSeconds), Grace: seconds(h.GraceSeconds),
		LogsFence: h.LogsFence, Content: h.Content, Base: storedOf(h.Workspace, h.Base),
		Plans: keeper.Plans{Apply: storedOf(h.Workspace, h.Plan), Leave: h.Plans},
	}
	return hold, nil
}

// storedOf maps a state of a Workspace, or a plan; nil stays nil.
func storedOf(workspace string, s *runner.State) *keeper.State {
	if s == nil {
		return nil
	}
	return &keeper.State{Digest: s.Digest, Blob: blob.Key{Workspace: workspace, Fence: s.Fence, Name: s.Name}, Size: s.Size}
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// Renew implements keeper.Ledger.
func (c *Client) Renew(ctx context.Context, h keeper.Holder, d job.Delay) (keeper.Renewal, error) {
	var answer runner.Renewal
	err := c.call(ctx, "renew", runner.Renew{Fence: h.Fence, Number: c.Clock().Nanoseconds(), Waits: d.Why, Stage: string(d.Stage)}, &answer)
	return keeper.Renewal{Cancel: answer.Cancel}, err
}

// Checkpoint implements keeper.Ledger.
func (c *Client) Checkpoint(ctx context.Context, h keeper.Holder, p keeper.Checkpoint) error {
	return c.call(ctx, "checkpoint", runner.Checkpoint{
		Fence: h.Fence, Sequence: p.Sequence, State: *stateOf(&p.State), Torn: p.Torn,
	}, &struct{}{})
}

// End implements keeper.Ledger.
func (c *Client) End(ctx context.Context, h keeper.Holder, e keeper.End) error {
	exit := exitOf(e.Process)
	return c.call(ctx, "end", runner.End{
		Fence: h.Fence, Base: e.Base, Outcome: string(e.Outcome), State: stateOf(e.State), Plan: stateOf(e.Plan),
		Code: exit.Code, Cause: string(exit.Cause),
		Outputs: e.Outputs, Message: cmp.Or(e.Message, e.Process.Message),
	}, &runner.Ended{})
}

// exitOf maps the end of a process.
func exitOf(e exchange.Ended) job.Exit {
	switch {
	case !e.Ran:
		return job.Exit{Code: e.Code, Cause: job.NotStarted}
	case e.OutOfMemory:
		return job.Exit{Code: e.Code, Cause: job.OutOfMemory}
	case e.Killed:
		return job.Exit{Code: e.Code, Cause: job.Killed}
	}
	return job.Exit{Code: e.Code}
}

// stateOf maps a stored state; nil stays nil.
func stateOf(s *keeper.State) *runner.State {
	if s == nil {
		return nil
	}
	return &runner.State{Digest: s.Digest, Fence: s.Blob.Fence, Name: s.Blob.Name, Size: s.Size}
}
