package job

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/evidence"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// holding is the hold of a Run.
type holding struct{ *look }

// hold does what is due for the Run that holds the lock.
func (l holding) hold(ctx context.Context) error {
	lock := l.w.Lock
	if !lock.Held() {
		return nil
	}
	if lock.Recovery.Reason != "" && !lock.Safety.Expires() {
		return nil // a person decides
	}
	l.within(min(poll, lock.Timing.Lost/4))
	if lock.Run.Person {
		return l.listen(ctx, false)
	}
	return l.attend(ctx)
}

// attend looks at the attempt of the lock, and does what is due for it.
func (l holding) attend(ctx context.Context) error {
	lock := l.w.Lock
	e, err := l.holder(ctx)
	if err != nil {
		return err
	}
	sight, err := l.Executor.Look(ctx, l.attempt(lock.Run, lock.Attempt))
	if err != nil {
		l.obstruct(e, fmt.Errorf("cannot look at attempt %d of %s: %w", lock.Attempt, lock.Run, err))
		if lock.Claimant.ID == "" {
			return nil
		}
		return l.listen(ctx, false)
	}
	if e != nil {
		e.pod = sight.Pod
	}
	if lock.Claimant.ID == "" {
		return l.begin(ctx, e, sight)
	}
	return l.listen(ctx, l.vanished(sight))
}

// holder returns the Run that holds the lock; nil if it is gone.
func (l holding) holder(ctx context.Context) (*execution, error) {
	if e := l.find(l.w.Lock.Run); e != nil {
		return e, nil
	}
	o := &v1alpha1.JobRun{}
	err := l.Reader.Get(ctx, client.ObjectKey{Namespace: l.name.Namespace, Name: l.w.Lock.Run.Name}, o)
	switch {
	case apierrors.IsNotFound(err), err == nil && string(o.UID) != l.w.Lock.Run.UID:
		return nil, nil //nolint:nilnil // it is gone
	case err != nil:
		return nil, fmt.Errorf("cannot read JobRun %s: %w", l.w.Lock.Run.Name, err)
	}
	return nil, errBehind
}

// begin does what is due for an attempt that nothing has claimed.
func (l holding) begin(ctx context.Context, e *execution, sight executor.Sight) error {
	lock := l.w.Lock
	claimed, err := evidence.Claimant(ctx, l.Store, string(l.o.UID), lock.Fence)
	if err != nil {
		l.obstruct(e, fmt.Errorf("cannot read who claims fence %d: %w", lock.Fence, err))
		return nil
	}
	switch {
	case claimed != "" && l.fresh():
		l.within(l.ClaimWait) // its keeper is about to write it
		return nil
	case claimed != "":
		return l.complete(ctx, claimed, sight.Where)
	case e == nil || e.ended() || convert.Stopped(e.JobRun): // another leader may have ended it before it had the lock
		next, err := l.w.Withdraw(lock.Run, claimed)
		if err != nil {
			return err
		}
		return l.write(ctx, next, "withdraw "+lock.Run.String())
	case sight.Over || sight.Silent:
		return l.replace(ctx, e)
	case !sight.Made:
		l.start(ctx, e)
	case sight.Where != "" && !l.fresh():
		_, err := l.sign(ctx)
		l.fail(err)
	}
	return nil
}

// sign returns the last renewal of the holder, and notes what its keeper has to try again.
func (l holding) sign(ctx context.Context) (Sign, error) {
	lock := l.w.Lock
	sign, err := l.Signs.Last(ctx, lock.Run.UID)
	if err != nil {
		return Sign{}, fmt.Errorf("cannot read the renewals of %s: %w", lock.Run, err)
	}
	claimed := lock.Claimant.ID != ""
	if e := l.find(lock.Run); e != nil && sign.Fence == lock.Fence && claimed == (sign.Number > 0) {
		e.delay = sign.Delay
	}
	return sign, nil
}

// fresh reports that the attempt of the lock was begun a moment ago and is not claimed. A keeper often claims at once, and then
// does not wait until the API server has stored what its claim changes.
func (l holding) fresh() bool {
	lock := l.w.Lock
	return lock.Held() && lock.Claimant.ID == "" && l.memory.unclaimed.passed(lock.Fence, l.Clock()) < l.ClaimWait
}

// complete writes a claim that only the store knows.
func (l holding) complete(ctx context.Context, claimed, where string) error {
	extent, err := l.extent(ctx)
	if err != nil {
		l.fail(err)
		return nil
	}
	next, err := l.w.Claim(workspace.Start{
		Run: l.w.Lock.Run, Attempt: l.w.Lock.Attempt, Claimant: workspace.Claimant{ID: claimed, Where: where}, Recorded: claimed, Extent: extent,
	})
	if errors.Is(err, workspace.ErrAhead) {
		return nil // which the Workspace shows
	}
	if err != nil {
		return err
	}
	return l.write(ctx, next, "complete the claim of "+l.w.Lock.Run.String())
}

// replace begins the next attempt of a Run, a while after the pod of the last one ended without a claim.
func (l holding) replace(ctx context.Context, e *execution) error {
	lock := l.w.Lock
	if e.pod.Obstacle == "" {
		e.pod.Obstacle = "its pod ended before it claimed the run, and another one is made"
	}
	pause := job.Pause(lock.Attempt)
	if passed := l.memory.over.passed(lock.Fence, l.Clock()); passed < pause {
		l.within(pause - passed)
		return nil
	}
	extent, err := l.extent(ctx)
	if err != nil {
		l.fail(err)
		return nil
	}
	next, err := l.w.Replace(lock.Run, lock.Attempt, "", extent)
	if errors.Is(err, workspace.ErrAhead) {
		return nil // which the Workspace shows
	}
	if err != nil {
		return err
	}
	if err := l.write(ctx, next, "replace the pod of "+lock.Run.String()); err != nil {
		return err
	}
	l.start(ctx, e)
	return nil
}

// start has the attempt of the lock carried out. What is left of the one before is removed first, so that no attempt but
// the last one is ever left.
func (l holding) start(ctx context.Context, e *execution) {
	lock := l.w.Lock
	input, _, err := convert.ToInput(e.JobRun)
	limit, checkpoint, wrong := convert.ToCapture(l.o.Spec)
	err = errors.Join(err, wrong)
	if err == nil && lock.Attempt > 1 {
		err = l.Executor.Remove(ctx, l.attempt(lock.Run, lock.Attempt-1))
	}
	if err == nil {
		err = l.Executor.Start(ctx, executor.Attempt{
			Name: l.attempt(lock.Run, lock.Attempt), Workspace: l.o.Name, Fence: lock.Fence, Input: input, Timing: lock.Timing,
			Hold: convert.ToHold(l.o.Spec), Settings: executor.Settings{Limit: limit, Checkpoint: checkpoint}, Variables: l.Variables,
		})
	}
	if err != nil {
		l.obstruct(e, fmt.Errorf("cannot start attempt %d: %w", lock.Attempt, err))
	}
}

// obstruct notes why the attempt of a Run does not start; nil for a Run that is gone.
func (l holding) obstruct(e *execution, err error) {
	if e != nil {
		e.pod.Obstacle = err.Error()
	}
	l.fail(err)
}

// vanished reports whether a claimed attempt has ended. What made it may not see it yet, or no longer: only one that is
// not there for a while counts.
func (l holding) vanished(sight executor.Sight) bool {
	if sight.Made {
		l.memory.missing = moment{}
		return sight.Over
	}
	return l.memory.missing.passed(l.w.Lock.Fence, l.Clock()) >= poll
}

// silence returns for how long the claimant has sent no renewal. Where renewals cannot be read, it begins anew: nothing
// is known of the time before.
func (l holding) silence(ctx context.Context) (time.Duration, error) {
	lock, now, m := l.w.Lock, l.Clock(), l.memory
	sign, err := l.sign(ctx)
	if err != nil || !m.watch.Follows(lock.Fence, lock.Claimant.ID) {
		m.watch = job.NewWatch(lock.Fence, lock.Claimant.ID, now)
	}
	if err != nil {
		return 0, err
	}
	m.watch = m.watch.Receive(sign.Fence, sign.Number, now)
	return m.watch.Silence(now), nil
}

// listen follows the signs of life of a claimant, and gives up one that is lost.
func (l holding) listen(ctx context.Context, vanished bool) error {
	lock := l.w.Lock
	silence, err := l.silence(ctx)
	if err != nil {
		l.fail(err)
		return nil
	}
	e := workspace.Evidence{Fence: lock.Fence, Silence: silence, Vanished: vanished, Now: l.Now()}
	var next workspace.Workspace
	what := "give up"
	switch {
	case lock.Safety.Expires() && e.Silence >= lock.Timing.Takeover():
		what = "release the lock of"
		if e.Uploaded, err = evidence.Uploaded(ctx, l.Store, string(l.o.UID), l.w, job.MaxState); err != nil {
			l.fail(fmt.Errorf("cannot read what fence %d has stored: %w", lock.Fence, err))
			return nil
		}
		next, err = l.w.Expire(e)
	case lock.Recovery.Reason == "" && (vanished || e.Silence >= lock.Timing.Lost):
		next, err = l.w.Lose(e)
	case lock.Recovery.Reason != "":
		l.within(lock.Timing.Takeover() - e.Silence)
		return nil
	default:
		l.within(lock.Timing.Lost - e.Silence)
		return nil
	}
	if err != nil {
		return err
	}
	return l.write(ctx, next, what+" "+lock.Run.String())
}
