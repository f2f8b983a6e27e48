// Package schema is the loop that judges the interfaces that a cluster publishes, and writes the result into the
// conditions of each.
//
// What must not come in: a decision on what an interface may be (domain/schema).
package schema

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// World is the part of the cluster that this controller needs.
type World interface {
	// Judge writes into the conditions of a published interface whether it is in force, or why not. Judging
	// twice does no harm.
	Judge(ctx context.Context, name string) error
	// Versions returns the names of the objects that publish versions of an interface: the conditions of one
	// may depend on another.
	Versions(ctx context.Context, of string) []string
}

// Reconciler judges one published interface at a time.
type Reconciler struct {
	World World
}

// Reconcile judges the interface that the request names.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if err := r.World.Judge(ctx, req.Name); err != nil {
		return reconcile.Result{}, fmt.Errorf("cannot judge interface %s: %w", req.Name, err)
	}
	return reconcile.Result{}, nil
}

// Setup registers the reconciler with the manager. It runs on the replica that won the leader election.
func (r *Reconciler) Setup(m manager.Manager) error {
	c, err := controller.New("interfaces", m, controller.Options{Reconciler: r})
	if err != nil {
		return fmt.Errorf("cannot make the controller: %w", err)
	}
	if err := c.Watch(source.Kind(m.GetCache(), client.Object(&v1alpha1.Interface{}), handler.EnqueueRequestsFromMapFunc(r.versions))); err != nil {
		return fmt.Errorf("cannot watch interfaces: %w", err)
	}
	return nil
}

func (r *Reconciler) versions(ctx context.Context, o client.Object) []reconcile.Request {
	i, ok := o.(*v1alpha1.Interface)
	if !ok {
		return nil
	}
	var all []reconcile.Request
	for _, name := range r.World.Versions(ctx, i.Spec.Name) {
		all = append(all, reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
	}
	return all
}
