package fleet

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	bundle "gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
)

// Setup registers the reconciler with the manager; it runs on the replica that won the leader election.
func (r *Reconciler) Setup(m manager.Manager) error {
	c, err := controller.New("integrationsets", m, controller.Options{Reconciler: r})
	if err != nil {
		return fmt.Errorf("cannot make the controller: %w", err)
	}
	sets, members := client.Object(&v1alpha1.IntegrationSet{}), client.Object(&bundle.BundleDeployment{})
	changed := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})
	for _, watch := range []source.Source{
		source.Kind(m.GetCache(), sets, &handler.EnqueueRequestForObject{}, changed),
		source.Kind(m.GetCache(), members, handler.EnqueueRequestsFromMapFunc(setsOf)),
		source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			r.enqueue = func(name types.NamespacedName) { queue.Add(reconcile.Request{NamespacedName: name}) }
			return nil
		}),
	} {
		if err := c.Watch(watch); err != nil {
			return fmt.Errorf("cannot watch: %w", err)
		}
	}
	return nil
}

// setsOf returns the set that a member belongs to, and those that claim it.
func setsOf(_ context.Context, o client.Object) []reconcile.Request {
	d, ok := o.(*bundle.BundleDeployment)
	if !ok || d.Labels[v1alpha1.SetLabel] == "" {
		return nil
	}
	var all []reconcile.Request
	for _, set := range append(claims(d), d.Labels[v1alpha1.SetLabel]) {
		all = append(all, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: d.Namespace, Name: set}})
	}
	return all
}
