package job

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
)

// The fields by which the cache finds objects.
const (
	byWorkspace = "spec.workspace"
	byTemplate  = "spec.template"
)

// workers is how many Workspaces are reconciled at once.
const workers = 8

// firstRetry and lastRetry bound the pause before a reconcile that failed is tried again: after an outage, what is left of
// it counts for the time that a run may be stuck.
const (
	firstRetry = 200 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// retries returns the pauses before a reconcile is tried again.
func retries() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry)
}

// SetupWithManager registers the reconciler with the manager; it runs on the replica that won the leader election.
func (r *Reconciler) SetupWithManager(m manager.Manager) error {
	ctx := context.Background()
	if err := m.GetFieldIndexer().IndexField(ctx, &v1alpha1.JobRun{}, byWorkspace, workspaceOf); err != nil {
		return fmt.Errorf("cannot index JobRuns: %w", err)
	}
	if err := m.GetFieldIndexer().IndexField(ctx, &v1alpha1.JobWorkspace{}, byTemplate, templateOf); err != nil {
		return fmt.Errorf("cannot index JobWorkspaces: %w", err)
	}
	c, err := controller.New("jobworkspaces", m, controller.Options{
		Reconciler: r, MaxConcurrentReconciles: workers,
		RateLimiter: retries(),
	})
	if err != nil {
		return fmt.Errorf("cannot make the controller: %w", err)
	}
	workspaces, runs := client.Object(&v1alpha1.JobWorkspace{}), client.Object(&v1alpha1.JobRun{})
	for _, watch := range append([]source.Source{
		source.Kind(m.GetCache(), workspaces, &handler.EnqueueRequestForObject{}),
		source.Kind(m.GetCache(), runs, handler.EnqueueRequestsFromMapFunc(requestOf)),
		source.Kind(m.GetCache(), client.Object(&v1alpha1.JobTemplate{}), handler.EnqueueRequestsFromMapFunc(r.users)),
		source.Kind(m.GetCache(), client.Object(&v1alpha1.JobTemplateVersion{}), handler.EnqueueRequestsFromMapFunc(r.users)),
	}, r.Sources...) {
		if err := c.Watch(watch); err != nil {
			return fmt.Errorf("cannot watch: %w", err)
		}
	}
	return nil
}

// workspaceOf returns the Workspace of a Run, for the index.
func workspaceOf(o client.Object) []string {
	if e, ok := o.(*v1alpha1.JobRun); ok {
		return []string{e.Spec.Workspace}
	}
	return nil
}

// templateOf returns the template of a Workspace, for the index.
func templateOf(o client.Object) []string {
	if w, ok := o.(*v1alpha1.JobWorkspace); ok {
		return []string{w.Spec.Template}
	}
	return nil
}

// requestOf returns the request for the Workspace of a Run.
func requestOf(_ context.Context, o client.Object) []reconcile.Request {
	var all []reconcile.Request
	for _, name := range workspaceOf(o) {
		all = append(all, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}})
	}
	return all
}

// users returns the requests for the Workspaces of a template, or of a version of it.
func (r *Reconciler) users(ctx context.Context, o client.Object) []reconcile.Request {
	var list v1alpha1.JobWorkspaceList
	name := o.GetName()
	if version, ok := o.(*v1alpha1.JobTemplateVersion); ok {
		name = version.Spec.Origin.Template
	}
	if err := r.Client.List(ctx, &list, client.InNamespace(o.GetNamespace()), client.MatchingFields{byTemplate: name}); err != nil {
		return nil // the cache has an index, and never fails
	}
	var all []reconcile.Request
	for i := range list.Items {
		all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return all
}
