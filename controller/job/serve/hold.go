package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/runner"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/evidence"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// swaps is how often a change is decided anew because the Workspace has changed meanwhile.
const swaps = 8

// change stores what decide makes of a Workspace, also where decide returns an error beside a Workspace that differs:
// it keeps an orphan then. It first decides by the copy at hand, which saves a read: if that is of an earlier version, the
// write is refused; and what changes nothing is decided again by the stored Workspace.
func (a *API) change(ctx context.Context, uid string, decide func(workspace.Workspace) (workspace.Workspace, error)) (workspace.Workspace, error) {
	read := a.Workspaces.Recent
	for try := range swaps {
		stored, err := read(ctx, uid)
		recent := try == 0
		if read = a.Workspaces.Get; recent && err != nil {
			continue
		}
		if err != nil {
			return workspace.Workspace{}, err
		}
		next, refused := decide(stored.Workspace)
		if reflect.DeepEqual(next, stored.Workspace) {
			if recent {
				continue
			}
			return next, refused
		}
		switch err := a.Workspaces.Swap(ctx, uid, stored.Version, next); {
		case err == nil:
			return next, refused
		case !errors.Is(err, ErrMoved):
			return workspace.Workspace{}, err
		}
	}
	return workspace.Workspace{}, fmt.Errorf("cannot store workspace %s: %w %d times", uid, ErrMoved, swaps)
}

// claim answers a claim.
func (a *API) claim(r *http.Request, c Caller, in runner.Claim) (runner.Hold, later, error) {
	if in.Place != c.Claimant.ID {
		return runner.Hold{}, nil, fmt.Errorf("cannot start attempt %d on %q: %w: it is that of %q", in.Attempt, in.Place, ErrForbidden, c.Claimant.ID)
	}
	run, err := a.Runs.Frozen(r.Context(), c.Run.UID)
	if err != nil {
		return runner.Hold{}, nil, err
	}
	var before workspace.Lock
	w, err := a.change(r.Context(), c.Workspace, func(w workspace.Workspace) (workspace.Workspace, error) {
		before = w.Lock
		return a.claimed(r.Context(), w, c, in.Attempt)
	})
	if err != nil {
		if before.Run == c.Run && before.Attempt == in.Attempt && before.Claimant.ID == "" {
			a.unclaimed(r.Context(), before, err)
		}
		return runner.Hold{}, nil, err
	}
	base, err := a.stored(w.State.Blob)
	if err != nil {
		return runner.Hold{}, nil, err
	}
	plan, err := planning{a}.applied(w, run)
	var logs int64
	if run.RestoreLogs {
		logs = w.Last.Fence
	}
	return runner.Hold{
		Workspace: c.Workspace, Fence: w.Lock.Fence, Generation: w.Lock.Base, Base: base, Sequence: w.Checkpoint.Sequence,
		Parameters: run.Parameters, Exclusive: !w.Lock.Safety.Expires(),
		Environment: []string{contract.VariableGeneration + "=" + strconv.FormatInt(w.Lock.Base, 10)},
		LostSeconds: w.Lock.Timing.Lost.Seconds(), GraceSeconds: w.Lock.Timing.Grace.Seconds(), LogsFence: logs, Content: run.Content,
		Plan: plan, Plans: run.Plans != "",
	}, a.generation(c.Workspace, w), err
}

// claimed returns a Workspace after a claim, whose claimant the store has.
func (a *API) claimed(ctx context.Context, w workspace.Workspace, c Caller, attempt int) (workspace.Workspace, error) {
	recorded, err := evidence.Claimant(ctx, a.Store, c.Workspace, w.Lock.Fence)
	if err != nil {
		return w, err
	}
	extent, err := evidence.Extent(ctx, a.Store, c.Workspace, w)
	if err != nil {
		return w, err
	}
	next, err := w.Claim(workspace.Start{Run: c.Run, Attempt: attempt, Claimant: c.Claimant, Recorded: recorded, Extent: extent})
	if err == nil {
		err = a.record(ctx, c.Workspace, next.Lock.Fence, c.Claimant.ID)
	}
	if err != nil {
		return w, err
	}
	return next, nil
}

// unclaimed notes why a keeper cannot claim the lock that its attempt has, so that the status of its Run tells it.
func (a *API) unclaimed(ctx context.Context, l workspace.Lock, why error) {
	d := job.Delay{Stage: job.Preparing, Why: shortened("cannot claim the run: " + why.Error())}
	if err := a.Renewals.Renewed(ctx, Renewal{Run: l.Run.UID, Fence: l.Fence, At: a.Clock(), Delay: d}); err != nil {
		glog.Warningf("the status of %s does not tell why it cannot be claimed: %v", l.Run, err)
	}
}

// stored returns an archive as a keeper fetches it; nil for none.
func (a *API) stored(b workspace.Blob) (*runner.State, error) {
	if b.Digest == "" {
		return nil, nil
	}
	key, err := blob.ParseKey(b.Key)
	return &runner.State{Digest: b.Digest, Fence: key.Fence, Name: key.Name, Size: a.Limits.State}, err
}

// maxDelay is how many bytes of a delay are shown.
const maxDelay = 512

func shortened(text string) string {
	if len(text) <= maxDelay {
		return text
	}
	return strings.ToValidUTF8(text[:maxDelay], "") + "…"
}

// renew answers a renewal.
func (a *API) renew(r *http.Request, c Caller, in runner.Renew) (runner.Renewal, later, error) {
	stored, err := a.Workspaces.Get(r.Context(), c.Workspace)
	if err != nil {
		return runner.Renewal{}, nil, err
	}
	if l := stored.Workspace.Lock; !l.ClaimedBy(c.Run, c.Claimant.ID) || l.Fence != in.Fence {
		return runner.Renewal{}, nil, fmt.Errorf("cannot renew fence %d of %s: %w", in.Fence, c.Run, workspace.ErrStale)
	}
	run, err := a.Runs.Get(r.Context(), c.Run.UID)
	if err == nil {
		delay := job.Delay{Stage: job.Stage(shortened(in.Stage)), Why: shortened(in.Waits)}
		err = a.Renewals.Renewed(r.Context(), Renewal{Run: c.Run.UID, Fence: in.Fence, Number: in.Number, At: a.Clock(), Delay: delay})
	}
	return runner.Renewal{Cancel: run.Cancel}, nil, err
}

// checkpoint answers a checkpoint.
func (a *API) checkpoint(r *http.Request, c Caller, in runner.Checkpoint) (struct{}, later, error) {
	archive, err := a.archive(r.Context(), c, in.Fence, &in.State, statePrefix)
	if err != nil {
		return struct{}{}, nil, err
	}
	_, err = a.change(r.Context(), c.Workspace, func(w workspace.Workspace) (workspace.Workspace, error) {
		return w.Save(workspace.Save{
			Run: c.Run, Checkpoint: workspace.Checkpoint{Blob: archive, Sequence: in.Sequence, Torn: in.Torn},
		})
	})
	return struct{}{}, nil, err
}

// end answers an end.
func (a *API) end(r *http.Request, c Caller, in runner.End) (runner.Ended, later, error) {
	archive, err := a.archive(r.Context(), c, in.Fence, in.State, statePrefix)
	if err != nil {
		return runner.Ended{}, nil, err
	}
	plan, err := planning{a}.left(r.Context(), c, in)
	if err != nil {
		return runner.Ended{}, nil, err
	}
	if err := report(r.Context(), a.Runs, c.Run.UID, in); err != nil {
		return runner.Ended{}, nil, err
	}
	capture := workspace.Capture{
		Run: c.Run, Fence: in.Fence, Base: in.Base, Outcome: job.Outcome(in.Outcome), Blob: archive, Plan: plan,
		Exit: job.Exit{Code: in.Code, Cause: job.Cause(in.Cause)}, Now: a.Clock(),
	}
	var outcome job.Outcome
	w, err := a.change(r.Context(), c.Workspace, func(w workspace.Workspace) (workspace.Workspace, error) {
		var next workspace.Workspace
		next, outcome, err = ended(r.Context(), a.Store, c.Workspace, w, capture)
		return next, err
	})
	return runner.Ended{Outcome: string(outcome)}, a.generation(c.Workspace, w), err
}

// ended returns a Workspace after an end. An end that is sent again changes nothing, also after its generation was removed.
func ended(
	ctx context.Context, store blob.Store, uid string, w workspace.Workspace, c workspace.Capture,
) (workspace.Workspace, job.Outcome, error) {
	var err error
	if c.Extent, err = evidence.Extent(ctx, store, uid, w); err != nil {
		return w, "", err
	}
	next, outcome, refused := w.End(c)
	if outcome != job.Orphaned || refused == nil {
		return next, outcome, refused
	}
	known, err := evidence.Recorded(ctx, store, uid, c.Blob)
	switch {
	case err != nil:
		return w, "", err
	case known:
		return w, job.Committed, nil
	}
	return next, outcome, refused
}

// report keeps what the template reported, its sensitive outputs apart.
func report(ctx context.Context, runs Runs, uid string, in runner.End) error {
	r := Report{Fence: in.Fence, Message: in.Message}
	if in.Outputs != "" {
		run, err := runs.Frozen(ctx, uid)
		if err != nil {
			return err
		}
		if r.Outputs, r.Sensitive, err = contract.Part(in.Outputs, run.Sensitive); err != nil {
			return fmt.Errorf("%w: %w", workspace.ErrInvalid, err)
		}
	}
	return runs.Report(ctx, uid, r)
}

// archive returns an archive that a caller has stored below a fence of its own, by a name that begins with a prefix; the
// zero value for none.
func (a *API) archive(ctx context.Context, c Caller, fence int64, s *runner.State, prefix string) (workspace.Blob, error) {
	if err := a.owned(ctx, c, fence); err != nil || s == nil {
		return workspace.Blob{}, err
	}
	key := blob.Key{Workspace: c.Workspace, Fence: fence, Name: s.Name}
	if s.Fence != fence || !strings.HasPrefix(s.Name, prefix) || key.Check() != nil {
		return workspace.Blob{}, fmt.Errorf("cannot use archive %q of fence %d: %w: it is not a %sarchive of fence %d",
			s.Name, s.Fence, workspace.ErrInvalid, prefix, fence)
	}
	in, err := a.Store.Get(ctx, key)
	if errors.Is(err, blob.ErrNotFound) {
		return workspace.Blob{}, fmt.Errorf("cannot use archive %s: %w: it is not stored", key, workspace.ErrInvalid)
	}
	if err != nil {
		return workspace.Blob{}, err
	}
	return workspace.Blob{Digest: s.Digest, Key: key.String(), Fence: fence}, in.Close()
}
