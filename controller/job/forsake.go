package job

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// forsaking ends Runs whose Workspace is gone.
type forsaking struct{ *look }

// forsake ends Runs whose Workspace is gone. Those that were never frozen wait for one.
func (l forsaking) forsake(ctx context.Context) error {
	for _, e := range l.forsaken {
		do := l.abandon
		if convert.OwnerOf(e.JobRun).UID == "" && !e.ended() {
			do = l.await
		}
		if err := do(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// abandon ends a Run whose Workspace is gone, and removes what carried it out.
func (l forsaking) abandon(ctx context.Context, e *execution) error {
	if err := l.gone(ctx, convert.OwnerOf(e.JobRun).UID); err != nil {
		return err
	}
	if !e.ended() {
		if err := l.publishEnd(ctx, e, run.Forsaken(int(e.Status.Attempt), e.Status.Fence)); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	if err := l.publishRun(ctx, e.JobRun, e.published); err != nil {
		return err
	}
	if !controllerutil.ContainsFinalizer(e.JobRun, v1alpha1.Finalizer) {
		return nil
	}
	return ending(l).remove(ctx, e.JobRun, max(1, e.published.Attempt))
}

// gone returns an error while a Workspace is still there: the cache may be behind.
func (l forsaking) gone(ctx context.Context, uid types.UID) error {
	now := &v1alpha1.JobWorkspace{}
	err := l.Reader.Get(ctx, l.name, now)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot read the JobWorkspace again: %w", err)
	}
	if err == nil && now.UID == uid {
		return errBehind
	}
	return nil
}

// await publishes that a Run waits for its Workspace; one that is cancelled ends.
func (l forsaking) await(ctx context.Context, e *execution) error {
	missing := fmt.Sprintf("there is no JobWorkspace %s in namespace %s", l.name.Name, l.name.Namespace)
	if convert.Cancelled(e.JobRun) {
		if err := l.publishEnd(ctx, e, run.Withdrawn(missing)); err != nil {
			return err
		}
		return l.publishRun(ctx, e.JobRun, e.published)
	}
	return l.publishRun(ctx, e.JobRun, run.Missing(missing+": create it, or delete this JobRun"))
}
