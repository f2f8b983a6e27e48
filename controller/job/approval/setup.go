package approval

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
)

// byRun is the field by which the cache finds JobApprovals.
const byRun = "spec.run"

// SetupWithManager registers the reconciler with the manager; it runs on the replica that won the leader election.
func (r *Reconciler) SetupWithManager(m manager.Manager) error {
	if err := m.GetFieldIndexer().IndexField(context.Background(), &v1alpha1.JobApproval{}, byRun, runOf); err != nil {
		return fmt.Errorf("cannot index JobApprovals: %w", err)
	}
	c, err := controller.New("jobapprovals", m, controller.Options{Reconciler: r})
	if err != nil {
		return fmt.Errorf("cannot make the controller: %w", err)
	}
	for _, watch := range []source.Source{
		source.Kind(m.GetCache(), client.Object(&v1alpha1.JobApproval{}), &handler.EnqueueRequestForObject{}),
		source.Kind(m.GetCache(), client.Object(&v1alpha1.JobRun{}), handler.EnqueueRequestsFromMapFunc(r.ofRun)),
	} {
		if err := c.Watch(watch); err != nil {
			return fmt.Errorf("cannot watch: %w", err)
		}
	}
	return nil
}

// runOf returns the JobRun that an approval names, for the index.
func runOf(o client.Object) []string {
	if a, is := o.(*v1alpha1.JobApproval); is {
		return []string{a.Spec.Run}
	}
	return nil
}

// ofRun returns the requests for the approvals of a JobRun.
func (r *Reconciler) ofRun(ctx context.Context, o client.Object) []reconcile.Request {
	var list v1alpha1.JobApprovalList
	if err := r.Client.List(ctx, &list, client.InNamespace(o.GetNamespace()), client.MatchingFields{byRun: o.GetName()}); err != nil {
		return nil // the cache has an index, and never fails
	}
	var all []reconcile.Request
	for i := range list.Items {
		all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return all
}
