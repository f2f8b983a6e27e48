package build

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
)

// SetupWithManager registers the reconciler with the manager; it runs on the replica that won the leader election.
func (r *Reconciler) SetupWithManager(m manager.Manager) error {
	done := make(chan event.GenericEvent, 1)
	r.works = newWorks(r.Now, func(name types.NamespacedName) {
		o := &v1alpha1.JobTemplate{}
		o.Namespace, o.Name = name.Namespace, name.Name
		done <- event.GenericEvent{Object: o}
	})
	c, err := controller.New("jobtemplates", m, controller.Options{Reconciler: r})
	if err != nil {
		return fmt.Errorf("cannot make the controller: %w", err)
	}
	for _, watch := range []source.Source{
		source.Channel(done, &handler.EnqueueRequestForObject{}),
		source.Kind(m.GetCache(), client.Object(&v1alpha1.JobTemplate{}), &handler.EnqueueRequestForObject{}),
		source.Kind(m.GetCache(), client.Object(&v1alpha1.JobTemplateType{}), handler.EnqueueRequestsFromMapFunc(r.ofType)),
		source.Kind(m.GetCache(), client.Object(&v1alpha1.JobTemplateVersion{}), handler.EnqueueRequestsFromMapFunc(ofVersion)),
		source.Kind(m.GetCache(), client.Object(&v1alpha1.JobWorkspace{}), handler.EnqueueRequestsFromMapFunc(ofWorkspace)),
	} {
		if err := c.Watch(watch); err != nil {
			return fmt.Errorf("cannot watch: %w", err)
		}
	}
	return nil
}

// ofType returns the requests for the templates of a type.
func (r *Reconciler) ofType(ctx context.Context, o client.Object) []reconcile.Request {
	var list v1alpha1.JobTemplateList
	if err := r.Client.List(ctx, &list); err != nil {
		return nil // the cache never fails
	}
	var all []reconcile.Request
	for i := range list.Items {
		if b := list.Items[i].Spec.Build; b != nil && b.Type == o.GetName() {
			all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return all
}

// ofVersion returns the request for the template of a version.
func ofVersion(_ context.Context, o client.Object) []reconcile.Request {
	return request(o, o.GetLabels()[v1alpha1.LabelTemplate])
}

// ofWorkspace returns the request for the template of a JobWorkspace. One that names another template now is found by both:
// handlers map the old and the new object.
func ofWorkspace(_ context.Context, o client.Object) []reconcile.Request {
	w, ok := o.(*v1alpha1.JobWorkspace)
	if !ok {
		return nil
	}
	return request(o, w.Spec.Template)
}

// request returns the request for a template of the namespace of an object; none for "".
func request(o client.Object, name string) []reconcile.Request {
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}}}
}
