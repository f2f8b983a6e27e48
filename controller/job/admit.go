package job

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/templates"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// admission gives the lock.
type admission struct{ *look }

// admit gives the lock to the next Run.
func (l admission) admit(ctx context.Context) error {
	if l.w.Lock.Held() {
		return nil
	}
	for _, rank := range l.queue() {
		e := l.find(rank.Run)
		switch {
		case rank.Ended.Ended():
			e.decided = rank.Ended // noted by the next look
			l.within(soon)
		case rank.Next && (l.farewell == nil || l.isDestroy(e.JobRun)):
			if err := l.acquire(ctx, e); err != nil {
				return err
			}
			return holding(l).hold(ctx)
		}
	}
	return nil
}

// acquire writes the lock for a Run. What the cache may not show yet is read from the API server.
func (l admission) acquire(ctx context.Context, e *execution) error {
	extent, err := l.extent(ctx)
	if err == nil {
		err = l.openable(ctx)
	}
	if err != nil {
		l.obstacle = err.Error()
		l.fail(err)
		return nil
	}
	input, err := l.consented(ctx, e.JobRun)
	if errors.Is(err, templates.ErrUnread) {
		return err
	}
	if err != nil {
		return ending(l).refuse(ctx, e, err)
	}
	if !e.written {
		if err := l.unchanged(ctx, e.JobRun); err != nil {
			return err
		}
	}
	published, err := l.publishedFence(ctx)
	if err != nil {
		return err
	}
	if l.Most != (run.Most{}) { // else admissions need not wait for each other
		l.memories.admitting.Lock()
		defer l.memories.admitting.Unlock()
	}
	if err := l.room(ctx, extent); err != nil {
		l.obstacle = err.Error()
		l.within(poll)
		return nil
	}
	w := l.w
	w.Terms.Safety = input.Safety
	next, err := w.Acquire(workspace.Admission{
		Run: convert.ToRun(e.JobRun), Published: published, Plan: input.Plan, Extent: extent, Now: l.Now(),
	})
	if errors.Is(err, workspace.ErrVoid) || errors.Is(err, workspace.ErrReplaced) {
		return ending(l).refuse(ctx, e, err)
	}
	if err != nil {
		l.obstacle = err.Error()
		return nil
	}
	if err := l.write(ctx, next, "give the lock to JobRun "+e.Name); err != nil {
		return err
	}
	l.admitted()
	return nil
}

// consented returns the input of a Run, or an error if it applies a plan whose approval was withdrawn while it waited.
func (l admission) consented(ctx context.Context, o *v1alpha1.JobRun) (run.Input, error) {
	input, _, err := convert.ToInput(o)
	if err != nil || input.Plan == "" {
		return input, err
	}
	approved, err := freezing(l).approved(ctx, o.Spec.Plan)
	if err == nil {
		err = run.Consent(l.w, o.Spec.Plan, input.Plan, approved)
	}
	return input, err
}

// openable returns an error if a new state could not be encrypted, or if no key opens the current one (JOBS.md J14).
func (l admission) openable(ctx context.Context) error {
	plain := l.o.Spec.State != nil && l.o.Spec.State.Encryption == v1alpha1.EncryptionDisabled
	if l.Ready != nil && !plain {
		if err := l.Ready(ctx); err != nil {
			return fmt.Errorf("cannot store a state: %w", err)
		}
	}
	key, err := blob.ParseKey(l.w.State.Key)
	if err != nil {
		return nil //nolint:nilerr // the state is empty
	}
	in, err := l.Store.Get(ctx, key)
	if errors.Is(err, blob.ErrLocked) {
		return fmt.Errorf("cannot read generation %d of the state: %w", l.w.State.Number, err)
	}
	if err == nil {
		_ = in.Close() // it is only opened
	}
	return nil
}

// unchanged returns an error if a Run has changed: it may have ended.
func (l admission) unchanged(ctx context.Context, o *v1alpha1.JobRun) error {
	now := &v1alpha1.JobRun{}
	if err := l.Reader.Get(ctx, client.ObjectKeyFromObject(o), now); err != nil {
		return fmt.Errorf("cannot read JobRun %s again: %w", o.Name, err)
	}
	if now.ResourceVersion != o.ResourceVersion || now.UID != o.UID {
		return errBehind
	}
	return nil
}

// forget drops orphans that no person has decided about for too long.
func (l admission) forget(ctx context.Context) error {
	if len(l.w.Orphans) == 0 {
		return nil
	}
	l.within(rarely)
	next := l.w.Forget(l.Now())
	if len(next.Orphans) == len(l.w.Orphans) {
		return nil
	}
	return l.write(ctx, next, "forget orphans")
}

// publishedFence returns the fence of the last end, if the Run shows an end or is gone, and 0 otherwise. The end that it shows is
// another one where two leaders were at work, and stays.
func (l admission) publishedFence(ctx context.Context) (int64, error) {
	last := l.w.Last
	if e := l.find(last.Run); e != nil || last.Fence == 0 {
		return fenceIf(e != nil && e.ended(), last.Fence), nil
	}
	o := &v1alpha1.JobRun{}
	err := l.Reader.Get(ctx, client.ObjectKey{Namespace: l.name.Namespace, Name: last.Run.Name}, o)
	switch {
	case apierrors.IsNotFound(err), err == nil && string(o.UID) != last.Run.UID:
		return last.Fence, nil
	case err != nil:
		return 0, fmt.Errorf("cannot read JobRun %s: %w", last.Run.Name, err)
	}
	end, err := convert.ToPublished(o)
	if err != nil {
		return 0, fmt.Errorf("cannot read the end of JobRun %s: %w", last.Run.Name, err)
	}
	return fenceIf(end.Ended(), last.Fence), nil
}

// fenceIf returns a fence that is shown, and 0 for one that is not.
func fenceIf(shown bool, fence int64) int64 {
	if shown {
		return fence
	}
	return 0
}
