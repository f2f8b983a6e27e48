package relation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// debounce is how long changes of one namespace are merged. The queue keeps the
// earliest time, so that a steady stream of changes delays none of them.
const debounce = 20 * time.Millisecond

// workers is how many namespaces are settled at once; each does nothing but
// wait for the API server most of the time.
const workers = 4

// firstRetry and lastRetry bound the pause before a namespace that failed is
// tried again; it doubles in between. After an outage of the API server no
// namespace waits longer than the last.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// Setup registers the reconciler with the manager; it runs on the replica that
// won the leader election.
func (r *Reconciler) Setup(m manager.Manager) error {
	c, err := controller.New("relations", m, controller.Options{
		Reconciler: r, MaxConcurrentReconciles: workers,
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
	})
	if err != nil {
		return fmt.Errorf("cannot make the controller: %w", err)
	}
	for _, kind := range []client.Object{
		&corev1.Namespace{}, &corev1.Service{}, &corev1.Pod{},
		&appsv1.Deployment{}, &appsv1.StatefulSet{}, &appsv1.DaemonSet{}, &batchv1.Job{}, &batchv1.CronJob{},
		object.ReplicaSet(),
		&v1alpha1.Relation{}, &v1alpha1.RelatedApplication{}, &v1alpha1.Databag{}, &v1alpha1.Offer{}, &v1alpha1.RelationSide{},
	} {
		if err := c.Watch(source.Kind(m.GetCache(), kind, r.settleLater(m.GetCache()))); err != nil {
			return fmt.Errorf("cannot watch %T: %w", kind, err)
		}
	}
	if err := c.Watch(source.Kind(m.GetCache(), client.Object(&v1alpha1.Interface{}), settleAll(m.GetCache()))); err != nil {
		return fmt.Errorf("cannot watch interfaces: %w", err)
	}
	return nil
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// ask asks for a namespace to be settled.
func ask(q queue, namespace string) {
	q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Name: namespace}}, debounce)
}

// settleAll asks for every namespace that has opted in to be settled: what an
// interface says may concern each. It is published once.
func settleAll(reader client.Reader) handler.EventHandler {
	all := func(ctx context.Context, q queue) {
		var list corev1.NamespaceList
		if err := object.List(ctx, reader, &list, client.MatchingLabels{application.LabelOptIn: application.OptedIn}); err != nil {
			return
		}
		for i := range list.Items {
			ask(q, list.Items[i].Name)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, _ event.CreateEvent, q queue) { all(ctx, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			if e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() {
				all(ctx, q)
			}
		},
		DeleteFunc: func(ctx context.Context, _ event.DeleteEvent, q queue) { all(ctx, q) },
	}
}

// settleLater asks for the namespaces to be settled that an object concerns.
func (r *Reconciler) settleLater(reader client.Reader) handler.EventHandler {
	n := neighbours{reader, r.World}
	later := func(ctx context.Context, o client.Object, q queue) {
		for _, namespace := range n.concerned(ctx, o) {
			ask(q, namespace)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { later(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			if onlyRenews(e) {
				return
			}
			if onlySays(e) {
				ask(q, e.ObjectNew.GetNamespace())
				return
			}
			if _, offer := e.ObjectOld.(*v1alpha1.Offer); offer {
				later(ctx, e.ObjectOld, q) // to whom it was offered before
			}
			later(ctx, e.ObjectNew, q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { later(ctx, e.Object, q) },
	}
}

// neighbours finds the namespaces that objects of another one concern.
type neighbours struct {
	reader client.Reader
	world  World
}

// concerned returns the namespaces that an object concerns: its own, and as far as
// an Offer lets them see each other that of the other side, if it asked (TRUST.md U4).
// No other namespace's settling depends on it, in time neither (SAFETY.md M7).
func (n neighbours) concerned(ctx context.Context, o client.Object) []string {
	own := cmp.Or(o.GetNamespace(), o.GetName())
	switch typed := o.(type) {
	case *v1alpha1.Offer:
		return append([]string{own}, n.asking(ctx, typed)...)
	case *v1alpha1.Relation:
		if other := typed.Spec.Provider.Namespace; other != "" && object.Consented(typed) {
			return []string{own, other}
		}
	case *v1alpha1.RelationSide:
		if other := object.OtherNamespace(typed); other != "" {
			return []string{own, other}
		}
	case *corev1.Namespace:
		return append(n.consumers(ctx, own, func(string) bool { return true }), n.offering(ctx, own)...)
	case *v1alpha1.RelatedApplication:
		return n.consumers(ctx, own, func(application string) bool { return application == typed.Name })
	case *v1alpha1.Databag:
		if typed.Spec.Unit == "" { // what units say is not negotiated
			return n.consumers(ctx, own, func(application string) bool { return application == typed.Spec.Application })
		}
	}
	return []string{own}
}

// consumers returns a namespace and those that asked for one of its applications and to which it offers that.
func (n neighbours) consumers(ctx context.Context, namespace string, offered func(application string) bool) []string {
	all := []string{namespace}
	var offers v1alpha1.OfferList
	if err := object.List(ctx, n.reader, &offers, client.InNamespace(namespace)); err != nil {
		return all
	}
	for i := range offers.Items {
		if offered(offers.Items[i].Spec.Application) {
			all = append(all, n.asking(ctx, &offers.Items[i])...)
		}
	}
	return all
}

// asking returns the consumers of an Offer that refer to its application or have a relation with it.
func (n neighbours) asking(ctx context.Context, offer *v1alpha1.Offer) []string {
	asking := map[string]bool{}
	for _, namespace := range n.world.Referrers(offer.Namespace, offer.Spec.Application) {
		asking[namespace] = true
	}
	var relations v1alpha1.RelationList
	to := client.MatchingFields{object.ByProviderNamespace: offer.Namespace}
	if err := object.List(ctx, n.reader, &relations, to); err != nil {
		return offer.Spec.Consumers
	}
	for i := range relations.Items {
		if relations.Items[i].Spec.Provider.Application == offer.Spec.Application {
			asking[relations.Items[i].Namespace] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(offer.Spec.Consumers), func(namespace string) bool { return !asking[namespace] })
}

// offering returns the namespaces whose Offers name one: they record which one it is (TRUST.md T8).
func (n neighbours) offering(ctx context.Context, namespace string) (all []string) {
	var offers v1alpha1.OfferList
	if err := object.List(ctx, n.reader, &offers, client.MatchingFields{object.ByConsumer: namespace}); err != nil {
		return nil
	}
	for i := range offers.Items {
		all = append(all, offers.Items[i].Namespace)
	}
	return all
}

// onlyRenews reports whether an application's leader renewed its lease, and no more.
func onlyRenews(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*v1alpha1.RelatedApplication)
	after, same := e.ObjectNew.(*v1alpha1.RelatedApplication)
	return ok && same && object.OnlyRenews(after, before)
}

// onlySays reports whether what is new of an application is only how it and its units
// say that they are: a pass over another namespace does not look at that.
func onlySays(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*v1alpha1.RelatedApplication)
	after, same := e.ObjectNew.(*v1alpha1.RelatedApplication)
	return ok && same && object.OnlyReports(after, before)
}
