package bundledeployment

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
)

// workers is how many deployments are reconciled at once.
const workers = 8

// firstRetry and lastRetry bound the pause before a reconcile that failed is tried again.
const (
	firstRetry = 200 * time.Millisecond
	lastRetry  = time.Minute
)

// Setup registers the reconciler with the manager; it runs on the replica that won the
// leader election.
func (r *Reconciler) Setup(m manager.Manager) error {
	c, err := controller.New("bundledeployments", m, controller.Options{
		Reconciler: r, MaxConcurrentReconciles: workers,
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
	})
	if err != nil {
		return fmt.Errorf("cannot make the controller: %w", err)
	}
	deployments, approvals := client.Object(&v1alpha1.BundleDeployment{}), client.Object(&v1alpha1.Approval{})
	dependents := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		return r.dependents(ctx, m.GetCache(), o)
	})
	for _, watch := range []source.Source{
		source.Kind(m.GetCache(), deployments, &handler.EnqueueRequestForObject{}, predicate.Predicate(changed())),
		source.Kind(m.GetCache(), deployments, dependents, predicate.Predicate(readiness())),
		source.Kind(m.GetCache(), approvals, handler.EnqueueRequestsFromMapFunc(approved)),
		source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			r.enqueue = func(name types.NamespacedName, after time.Duration) {
				queue.AddAfter(reconcile.Request{NamespacedName: name}, after)
			}
			return nil
		}),
	} {
		if err := c.Watch(watch); err != nil {
			return fmt.Errorf("cannot watch: %w", err)
		}
	}
	return nil
}

// changed lets through what people have changed.
func changed() predicate.Funcs {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
			e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero() ||
			!maps.Equal(e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations())
	}}
}

// readiness lets through deployments that have become healthy.
func readiness() predicate.Funcs {
	ready := func(o client.Object) bool {
		d, ok := o.(*v1alpha1.BundleDeployment)
		return ok && isReady(d)
	}
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool { return !ready(e.ObjectOld) && ready(e.ObjectNew) },
	}
}

// dependents returns the deployments that wait for one.
func (r *Reconciler) dependents(ctx context.Context, known cache.Cache, o client.Object) []reconcile.Request {
	var all v1alpha1.BundleDeploymentList
	if err := known.List(ctx, &all, client.InNamespace(o.GetNamespace())); err != nil {
		return nil // a cache that is there does not fail, and a resync follows
	}
	var requests []reconcile.Request
	for i := range all.Items {
		if d := &all.Items[i]; slices.Contains(d.Spec.DependsOn, o.GetName()) {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: d.Namespace, Name: d.Name}})
		}
	}
	return requests
}

// approved returns the deployment that an Approval is about.
func approved(_ context.Context, o client.Object) []reconcile.Request {
	a, ok := o.(*v1alpha1.Approval)
	if !ok {
		return nil
	}
	plans := a.Spec.Plans
	if len(plans) == 0 {
		plans = []v1alpha1.ApprovedPlan{{Deployment: a.Spec.Deployment}}
	}
	var all []reconcile.Request
	for _, p := range plans {
		all = append(all, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: a.Namespace, Name: p.Deployment}})
	}
	return all
}
