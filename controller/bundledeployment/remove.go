package bundledeployment

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/bundle"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// remove deletes all that the deployment made, and then lets it go (BUNDLES.md 7).
func (j *job) remove(ctx context.Context) (reconcile.Result, error) {
	j.engine.Tell = func(p bundle.Progress) { j.tell(ctx, p) }
	j.engine.Gate = domain.Gate{} // who deletes the deployment has said what shall be
	j.engine.Timeout = 0          // there is no other deadline for a deletion; it is tried again
	stop, err := j.uninstall(ctx)
	switch {
	case err != nil:
		return reconcile.Result{}, err
	case stop == nil:
		return reconcile.Result{}, j.release(ctx)
	case stop.Reason == forbidden && j.lost(ctx):
		j.warn("Abandoned", "the namespace is being deleted and the account has lost its permissions: objects in other namespaces stay")
		return reconcile.Result{}, j.release(ctx)
	case stop.Reason == forbidden:
		return j.waitForAccount(ctx, stop)
	}
	return j.stopped(ctx, stop)
}

// waitForAccount goes on when the account may act, unless nothing was ever made with it.
func (j *job) waitForAccount(ctx context.Context, stop *domain.Stop) (reconcile.Result, error) {
	revisions, err := j.faces(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	if len(revisions) == 0 && j.deployment.Status.ActiveRevision == 0 {
		return reconcile.Result{}, j.release(ctx)
	}
	stop.Message = "deletion is waiting: " + stop.Message
	return j.stopped(ctx, stop)
}

// uninstall says what stops it; nil when all is gone.
func (j *job) uninstall(ctx context.Context) (*domain.Stop, error) {
	if stop := j.load(ctx); stop != nil {
		return stop, nil
	}
	if j.engine.Record().Last().Number == 0 {
		return nil, nil
	}
	p, err := j.engine.Plan(ctx, bundle.Wish{Uninstall: true, ConfirmKinds: j.deployment.Spec.Prune.ConfirmKinds})
	if err != nil {
		return stopAt(domain.Planned, "PlanFailed", err), ctx.Err()
	}
	approvals, void, err := j.approvals(ctx, p)
	if err != nil {
		return nil, err
	}
	err = j.engine.Uninstall(ctx, p, approvals...)
	refused, held := errors.AsType[*domain.RefusedError](err)
	switch {
	case err == nil:
		return nil, nil
	case held && refused.Reason == domain.InUse:
		return &domain.Stop{Reason: string(domain.InUse), Message: "deletion is waiting: " + refused.Message}, nil
	case held:
		j.deployment.Status.Plan = convert.ForPlan(j.deployment, p, 0)
		return &domain.Stop{Reason: string(refused.Reason), Person: true, Message: fmt.Sprintf("deletion is waiting: %s%s. To approve it: "+
			"orcon approve %s -n %s", void, refused.Message, j.deployment.Name, j.deployment.Namespace)}, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return &domain.Stop{Reason: "DeletionStuck", Message: err.Error()}, nil
}

// lost reports whether nobody could act in the namespace any more.
func (j *job) lost(ctx context.Context) bool {
	var namespace corev1.Namespace
	err := j.Client.Get(ctx, client.ObjectKey{Name: j.deployment.Namespace}, &namespace)
	return err == nil && !namespace.DeletionTimestamp.IsZero()
}

// release lets the deployment go.
func (j *job) release(ctx context.Context) error {
	before := j.deployment.DeepCopy()
	controllerutil.RemoveFinalizer(j.deployment, Finalizer)
	if err := j.Client.Patch(ctx, j.deployment, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot remove the finalizer: %w", err)
	}
	j.published.forget(j.deployment.UID)
	return nil
}
