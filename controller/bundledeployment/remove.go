package bundledeployment

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/cluster"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/bundle"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// removal is the deletion of all that a deployment made.
type removal struct{ *job }

// longDeletion is after how long a deletion is reported as stuck.
const longDeletion = 15 * time.Minute

// remove deletes what can be deleted at once of all that the deployment made, and lets the
// deployment go when nothing is left (BUNDLES.md 7).
func (j removal) remove(ctx context.Context) (reconcile.Result, error) {
	j.pool.Forget(j.name())
	j.unwatch(j.name())
	if goes, err := j.goesWithDefinition(ctx); err != nil {
		return reconcile.Result{}, err
	} else if goes {
		j.warn("Abandoned", "the definition of BundleDeployments is being deleted: what this one deployed stays")
		return reconcile.Result{}, j.release(ctx)
	}
	j.engine.Gate = domain.Gate{} // the request to delete the deployment is the approval
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
	result, err := j.stopped(ctx, stop)
	if err == nil && !stop.Person && stop.Reason != string(domain.InUse) {
		result.RequeueAfter = j.while(j.deployment.DeletionTimestamp.Time)
	}
	return result, err
}

// goesWithDefinition reports whether the deployment is deleted because its definition is. No person has then requested
// the deletion of its objects (TRUST.md T1). A live read alone shows that.
func (j removal) goesWithDefinition(ctx context.Context) (bool, error) {
	definition, err := object.Definition(ctx, j.Reader, "bundledeployments")
	if err != nil {
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err) //nolint:wrapcheck // it names the definition
	}
	since := definition.DeletionTimestamp
	return since != nil && !j.deployment.DeletionTimestamp.Before(since), nil
}

// waitForAccount waits until the account may act, unless nothing was ever made with it.
func (j removal) waitForAccount(ctx context.Context, stop *domain.Stop) (reconcile.Result, error) {
	revisions, err := revisions(j).published(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	if len(revisions) == 0 && j.deployment.Status.ActiveRevision == 0 {
		return reconcile.Result{}, j.release(ctx)
	}
	stop.Message = "deletion is waiting: " + stop.Message
	return j.stopped(ctx, stop)
}

// uninstall returns what stops it; nil when everything is gone.
func (j removal) uninstall(ctx context.Context) (*domain.Stop, error) {
	if stop := j.load(ctx); stop != nil {
		return stop, nil
	}
	record := j.engine.Record()
	if record.Last().Number == 0 {
		return nil, nil
	}
	j.engine.SkipJobs = j.skipped(ctx, record)
	if !j.orphans() && (len(record.Removing) == 0 || !j.agreed(record.Removing)) {
		if stop, err := j.beginRemoval(ctx); stop != nil || err != nil {
			return stop, err
		}
	}
	for {
		pruned, gone, err := j.engine.Remove(ctx, j.plan())
		switch {
		case err != nil:
			return stuck(ctx, err)
		case gone:
			return nil, nil
		case len(pruned.Waits) > 0 || j.Now().After(j.engine.Until):
			return j.deletion(pruned), nil
		}
	}
}

// skipped returns the Jobs that are not run before the deletion: those that spec names, and all where the namespace goes
// too, since nothing runs there any more.
func (j removal) skipped(ctx context.Context, record domain.Record) []domain.Target {
	// A name that cannot be read names no Job: spec is not checked while the deployment goes.
	skipped, _ := domain.ParseTargets("spec.render.skipHooks", j.deployment.Spec.Render.SkipHooks)
	jobs := domain.FinalJobs(record, nil)
	if len(jobs) == 0 || !j.lost(ctx) {
		return skipped
	}
	for _, job := range jobs {
		skipped = append(skipped, domain.Target{Kind: job.Origin.Kind, Namespace: job.Origin.Namespace, Name: job.Origin.Name})
	}
	return skipped
}

// orphans reports whether the objects go on without the deployment.
func (j removal) orphans() bool {
	return j.deployment.Spec.DeletionPolicy == v1alpha1.DeletionPolicyOrphan
}

// plan returns the plan by which the objects go.
func (j removal) plan() domain.Plan {
	record := j.engine.Record()
	if j.orphans() {
		return domain.Orphan(j.engine.Owner, record)
	}
	return record.Removing.Plan(j.engine.Owner, record)
}

// stuck returns the stop of a deletion that an error holds up, or the error if it does not describe the deployment.
func stuck(ctx context.Context, err error) (*domain.Stop, error) {
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, cluster.ErrMoved):
		return nil, err
	}
	return &domain.Stop{Reason: "DeletionStuck", Message: err.Error()}, nil
}

// beginRemoval stores that everything is deleted from now on, once that is approved, and returns
// what stops it.
func (j removal) beginRemoval(ctx context.Context) (*domain.Stop, error) {
	p, err := j.engine.Plan(ctx, bundle.Wish{Uninstall: true, ConfirmKinds: j.deployment.Spec.Prune.ConfirmKinds})
	if err != nil {
		return stopAt(domain.Planned, "PlanFailed", err), ctx.Err()
	}
	approvals, void, err := j.approvals(ctx, p)
	if err != nil {
		return nil, err
	}
	err = j.engine.BeginRemoval(ctx, p, approvals...)
	refused, held := errors.AsType[*domain.RefusedError](err)
	switch {
	case held && refused.Reason == domain.InUse:
		return &domain.Stop{Reason: string(domain.InUse), Message: "deletion is waiting: " + refused.Message}, nil
	case held:
		j.deployment.Status.Plan = convert.ForPlan(j.deployment, p, 0)
		return &domain.Stop{Reason: string(refused.Reason), Person: true, Message: fmt.Sprintf("deletion is waiting: %s%s. To approve it: "+
			"orcon approve %s -n %s", void, refused.Message, j.deployment.Name, j.deployment.Namespace)}, nil
	}
	if err != nil {
		return stuck(ctx, err)
	}
	j.deployment.Status.Plan = convert.ForRemoval(p)
	_, err = j.stopped(ctx, j.deletion(domain.Pruned{}))
	return nil, err
}

// agreed reports whether the status names the removal: users who may write the record cannot write
// that (TRUST.md R2).
func (j removal) agreed(r domain.Removal) bool {
	plan := j.said.Status.Plan
	return plan != nil && plan.Digest == r.Digest()
}

// deletion returns the stop of a deletion that is under way.
func (j removal) deletion(pruned domain.Pruned) *domain.Stop {
	stop := &domain.Stop{Reason: "Deleting", Message: "its objects are being deleted"}
	next := domain.Next{Waits: pruned.Waits}
	if j.Now().Sub(j.deployment.DeletionTimestamp.Time) > longDeletion {
		stop.Reason, stop.Message = "DeletionStuck", fmt.Sprintf("not everything is deleted after %s", longDeletion)
	}
	if waiting := next.Waiting(); waiting != "" {
		stop.Message += "; " + waiting
	}
	j.standing.Next = next
	return stop
}

// lost reports whether the namespace is going, and all permissions in it.
func (j removal) lost(ctx context.Context) bool {
	var namespace corev1.Namespace
	err := j.Client.Get(ctx, client.ObjectKey{Name: j.deployment.Namespace}, &namespace)
	return err == nil && !namespace.DeletionTimestamp.IsZero()
}

// release lets the deployment go.
func (j removal) release(ctx context.Context) error {
	before := j.deployment.DeepCopy()
	controllerutil.RemoveFinalizer(j.deployment, v1alpha1.Finalizer)
	if err := j.Client.Patch(ctx, j.deployment, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot remove the finalizer: %w", err)
	}
	j.forget(j.name())
	return nil
}
