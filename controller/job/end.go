package job

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// ending ends Runs.
type ending struct{ *look }

// end stores the ends of Runs that have ended.
func (l ending) end(ctx context.Context) error {
	for _, rank := range l.queue() {
		if e := l.find(rank.Run); rank.Ended.Ended() && e != nil {
			e.decided = rank.Ended
		}
	}
	for _, e := range l.runs {
		s, over := l.explained(ctx, e)
		if !over {
			continue
		}
		if err := l.confirm(ctx, e.JobRun, s); err != nil {
			return err
		}
		if err := l.publishEnd(ctx, e, s); err != nil {
			return err
		}
	}
	return nil
}

// explanation is how long the executor may take to show how a process was killed.
const explanation = 5 * time.Second

// explained returns the end of a Run that is to be stored; false for none. That of a process which was killed waits until
// its pod shows by what, or will not.
func (l ending) explained(ctx context.Context, e *execution) (run.Status, bool) {
	s := l.status(e)
	if e.ended() || !s.Ended() || s.Exit.Cause != job.Killed || convert.Stopped(e.JobRun) {
		return s, !e.ended() && s.Ended()
	}
	sight, err := l.Executor.Look(ctx, l.attempt(convert.ToRun(e.JobRun), s.Attempt))
	if err != nil {
		l.fail(fmt.Errorf("cannot look at attempt %d of JobRun %s: %w", s.Attempt, e.Name, err))
	}
	e.pod = sight.Pod
	shown := err == nil && (!sight.Made || sight.Stopped || sight.Over)
	if !shown && l.memory.passedSince(e.UID, l.Clock()) < explanation {
		l.within(time.Second)
		return s, false
	}
	return l.status(e), true
}

// refuse ends a Run that waits and can never start.
func (l ending) refuse(ctx context.Context, e *execution, reason error) error {
	s := refusal(e.JobRun, reason)
	if err := l.confirm(ctx, e.JobRun, s); err != nil {
		return err
	}
	return l.publishEnd(ctx, e, s)
}

// refusal returns the end of a Run that waits and can never start. One whose plan is void has another Run plan again.
func refusal(o *v1alpha1.JobRun, reason error) run.Status {
	if errors.Is(reason, workspace.ErrVoid) {
		return run.PlanChanged(reason, o.Namespace, replanner(o))
	}
	return run.Refused(reason)
}

// confirm returns an error if the end of a Run must not be stored yet: one that never had the lock may have it by now, and
// one whose plan is void ends after the Run that plans again was made.
func (l ending) confirm(ctx context.Context, o *v1alpha1.JobRun, s run.Status) error {
	if s.Fence > 0 {
		return nil
	}
	if err := l.current(ctx); err != nil || s.Reason != run.ReasonPlanChanged {
		return err
	}
	again := &v1alpha1.JobRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: replanner(o)},
		Spec:       v1alpha1.JobRunSpec{Workspace: o.Spec.Workspace, Action: run.Planner(o.Spec.Action)},
	}
	if err := l.Client.Create(ctx, again); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("cannot make the JobRun that plans again: %w", err)
	}
	return nil
}

// replanner returns the name of the Run that plans again in place of one whose plan is void.
func replanner(o *v1alpha1.JobRun) string { return fmt.Sprintf("%s-%.6s", o.Spec.Workspace, o.UID) }

// current returns an error if the Workspace has changed: a Run that seems to wait may have the lock by now, and an end is
// final.
func (l ending) current(ctx context.Context) error {
	now := &v1alpha1.JobWorkspace{}
	if err := l.Reader.Get(ctx, l.name, now); err != nil {
		return fmt.Errorf("cannot read the JobWorkspace again: %w", err)
	}
	if now.ResourceVersion != l.o.ResourceVersion {
		return errBehind
	}
	return nil
}

// publishEnd stores the end of a Run.
func (r *Reconciler) publishEnd(ctx context.Context, e *execution, s run.Status) error {
	before := e.DeepCopy()
	convert.SetEnd(e.JobRun, s)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, e.JobRun, patch); err != nil {
		return fmt.Errorf("cannot store the end of JobRun %s: %w", e.Name, err)
	}
	e.published = s
	return nil
}

// drain is how long a keeper may take, after its end is recorded, to carry away the rest of the output.
const drain = time.Minute

// clear removes what carried out Runs that have ended, and lets them go.
func (l ending) clear(ctx context.Context) error {
	for _, e := range l.runs {
		kept := controllerutil.ContainsFinalizer(e.JobRun, v1alpha1.Finalizer)
		if !e.ended() || !kept || l.early(ctx, convert.ToRun(e.JobRun), e.published.Fence) {
			continue
		}
		if e.drains = l.draining(ctx, e); e.drains {
			l.within(time.Second)
			continue
		}
		if err := (retaining(l)).record(ctx, e.JobRun); err != nil {
			l.fail(err)
			continue
		}
		attempt := e.published.Attempt
		if convert.ToRun(e.JobRun) == l.w.Last.Run {
			attempt = max(attempt, l.w.Last.Attempt)
		}
		if err := l.remove(ctx, e.JobRun, attempt); err != nil {
			return err
		}
		delete(l.memory.ended, e.UID)
	}
	return nil
}

// early reports whether a Run that shows an end, in a hold or in none, may not be let go yet.
func (l ending) early(ctx context.Context, r workspace.Run, fence int64) bool {
	unheld := fence == 0 && l.current(ctx) != nil
	if unheld {
		l.within(soon)
	}
	return unheld || r == l.w.Lock.Run // it had ended before it had the lock, where two leaders were at work
}

// draining reports whether an attempt has an output that is not yet stored. One that was given up, or withdrawn, is not
// waited for.
func (l ending) draining(ctx context.Context, e *execution) bool {
	s := e.published
	withdrawn := s.Outcome == job.None && convert.Stopped(e.JobRun)
	if s.Attempt == 0 || s.Exit.Cause == job.Unreported || withdrawn {
		return false
	}
	sight, err := l.Executor.Look(ctx, l.attempt(convert.ToRun(e.JobRun), e.published.Attempt))
	if err != nil {
		l.fail(fmt.Errorf("cannot look at attempt %d of JobRun %s: %w", e.published.Attempt, e.Name, err))
	}
	return (err != nil || sight.Made && !sight.Over) && l.memory.passedSince(e.UID, l.Clock()) < drain
}

// remove removes what carried out a Run up to its last attempt, and its finalizer; attempt 0 is none. The one before the
// last is left if the last one was never started.
func (l ending) remove(ctx context.Context, o *v1alpha1.JobRun, attempt int) error {
	for n := max(1, attempt-1); n <= attempt; n++ {
		if err := l.Executor.Remove(ctx, l.attempt(convert.ToRun(o), n)); err != nil {
			l.fail(fmt.Errorf("cannot remove attempt %d of JobRun %s: %w", n, o.Name, err))
			return nil
		}
	}
	before := o.DeepCopy()
	controllerutil.RemoveFinalizer(o, v1alpha1.Finalizer)
	if err := client.IgnoreNotFound(l.patch(ctx, o, before)); err != nil {
		return fmt.Errorf("cannot let JobRun %s go: %w", o.Name, err)
	}
	return nil
}
