package views

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// changes reports which applications' views an informer's event concerns.
type changes struct {
	reader     client.Reader
	changed    func(namespace, application string)
	podChanged func(namespace, name string)
	revisions  *revisions
}

// Follow starts to report changes and to count revisions. It returns when the informers have synced.
func (v *Views) Follow(ctx context.Context, informers cache.Cache) error {
	c := v.changes()
	for kind, o := range map[string]client.Object{
		"relations": &v1alpha1.Relation{}, "relatedapplications": &v1alpha1.RelatedApplication{},
		"relationsides": &v1alpha1.RelationSide{}, "databags": &v1alpha1.Databag{}, "offers": &v1alpha1.Offer{}, "pods": &corev1.Pod{},
	} {
		if err := c.follow(ctx, informers, kind, o); err != nil {
			return fmt.Errorf("cannot follow %s: %w", kind, err)
		}
	}
	secrets := toolscache.ResourceEventHandlerFuncs{
		AddFunc:    c.secretChanged,
		UpdateFunc: func(before, after any) { c.secretChanged(before); c.secretChanged(after) },
		DeleteFunc: c.secretChanged,
	}
	if err := handle(ctx, informers, &v1alpha1.RelatedSecret{}, secrets); err != nil {
		return fmt.Errorf("cannot follow secrets: %w", err)
	}
	for _, o := range []client.Object{&v1alpha1.Databag{}, &v1alpha1.RelatedSecret{}} {
		if err := handle(ctx, informers, o, v.handler()); err != nil {
			return fmt.Errorf("cannot count %T: %w", o, err)
		}
	}
	for _, o := range []client.Object{object.ReplicaSet(), &batchv1.Job{}} { // owners of pods
		if _, err := informers.GetInformer(ctx, o); err != nil {
			return fmt.Errorf("cannot follow %T: %w", o, err)
		}
	}
	return nil
}

func (v *Views) changes() changes { return changes{v.Reader, v.Changed, v.PodChanged, &v.revisions} }

func (c changes) follow(ctx context.Context, informers cache.Cache, kind string, o client.Object) error {
	seen := func(event any) { c.seen(ctx, kind, event) }
	err := handle(ctx, informers, o, toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(event any) { c.added(ctx, kind, event) },
		UpdateFunc: func(before, after any) { c.updated(ctx, kind, before, after) },
		DeleteFunc: seen,
	})
	if err != nil || kind == "pods" { // views do not show pods
		return err
	}
	store, err := object.StoreOf(ctx, informers, o)
	if err == nil {
		c.revisions.count(kind, store)
	}
	return err
}

// handle adds a handler to the informer of an object's kind, and waits until it has synced.
func handle(ctx context.Context, informers cache.Cache, o client.Object, handler toolscache.ResourceEventHandler) error {
	informer, err := informers.GetInformer(ctx, o)
	if err != nil {
		return fmt.Errorf("cannot get the informer: %w", err)
	}
	registration, err := informer.AddEventHandler(handler)
	if err != nil {
		return fmt.Errorf("cannot add a handler: %w", err)
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return fmt.Errorf("cannot sync: %w", context.Cause(ctx))
	}
	return nil
}

// added handles an object that is new to an informer. The record of an application may come after its relations, with
// units and grants that do not change any more.
func (c changes) added(ctx context.Context, kind string, event any) {
	c.seen(ctx, kind, event)
	if a, is := event.(*v1alpha1.RelatedApplication); is && len(a.State.Units)+len(a.State.Grants) > 0 {
		c.peersChanged(ctx, a.Namespace, a.Name, func(v1alpha1.RelationEnd) bool { return true })
	}
}

// seen handles an event of an informer. It runs after the informer's store has the object, so that no
// revision is counted before the object can be read.
func (c changes) seen(ctx context.Context, kind string, event any) {
	o, ok := objectOf(event)
	if !ok {
		return
	}
	if kind != "pods" {
		c.revisions.raise(kind, object.Revision(o))
	}
	switch typed := o.(type) {
	case *v1alpha1.Relation:
		c.relationChanged(typed)
	case *v1alpha1.RelationSide:
		c.changed(typed.Namespace, object.SideEnd(typed).Application)
		if typed.Spec.Role == v1alpha1.RoleProvider {
			c.changed(cmp.Or(typed.Spec.Requirer.Namespace, typed.Namespace), typed.Spec.Requirer.Application)
		}
	case *v1alpha1.RelatedApplication:
		c.changed(typed.Namespace, typed.Name)
	case *v1alpha1.Databag:
		c.bagChanged(ctx, typed)
	case *v1alpha1.Offer:
		c.changed(typed.Namespace, typed.Spec.Application)
		c.peersChanged(ctx, typed.Namespace, typed.Spec.Application, func(e v1alpha1.RelationEnd) bool {
			return e.Endpoint == typed.Spec.Endpoint
		})
	case *corev1.Pod:
		c.podChanged(typed.Namespace, typed.Name)
	}
}

// objectOf returns the object of an informer's event.
func objectOf(event any) (o client.Object, ok bool) {
	if deleted, is := event.(toolscache.DeletedFinalStateUnknown); is {
		event = deleted.Obj
	}
	o, ok = event.(client.Object)
	return o, ok
}

// relationChanged reports both ends; a provider of another namespace once it has consented.
func (c changes) relationChanged(r *v1alpha1.Relation) {
	c.changed(r.Namespace, r.Spec.Requirer.Application)
	if r.Spec.Provider != r.Spec.Requirer && object.Consented(r) {
		c.changed(cmp.Or(r.Spec.Provider.Namespace, r.Namespace), r.Spec.Provider.Application)
	}
}

// bagChanged reports the writer of a bag and its readers. An outbox concerns all peers of its application.
func (c changes) bagChanged(ctx context.Context, b *v1alpha1.Databag) {
	c.changed(b.Namespace, b.Spec.Application)
	c.peersChanged(ctx, b.Namespace, b.Spec.Application, func(e v1alpha1.RelationEnd) bool {
		return b.Spec.Purpose == v1alpha1.PurposeOutbox || e.Endpoint == b.Spec.Endpoint
	})
}

// updated handles an informer's update. The peers of an application are reported only when its units or
// grants change, since there may be ten thousand of them; a renewed lease concerns none.
func (c changes) updated(ctx context.Context, kind string, before, after any) {
	was, ok := before.(*v1alpha1.RelatedApplication)
	is, same := after.(*v1alpha1.RelatedApplication)
	if !ok || !same {
		if offer, is := before.(*v1alpha1.Offer); is {
			c.seen(ctx, kind, offer) // its endpoint and consumers before
		}
		c.seen(ctx, kind, after)
		return
	}
	if object.OnlyRenews(is, was) {
		c.revisions.raise(kind, object.Revision(is))
		return
	}
	c.seen(ctx, kind, after)
	if !slices.EqualFunc(was.State.Units, is.State.Units, object.SameToOthers) || !slices.Equal(was.State.Grants, is.State.Grants) {
		c.peersChanged(ctx, is.Namespace, is.Name, func(v1alpha1.RelationEnd) bool { return true })
	}
}

// peersChanged reports the applications at the other ends of those relations of an application whose
// own end is concerned.
func (c changes) peersChanged(ctx context.Context, namespace, application string, concerned func(v1alpha1.RelationEnd) bool) {
	for _, index := range []string{object.ByProvider, object.ByRequirer} {
		var list v1alpha1.RelationList
		if err := object.List(ctx, c.reader, &list, object.At(index, namespace, application)); err != nil {
			return
		}
		for i := range list.Items {
			r := &list.Items[i]
			here, there := r.Spec.Provider, r.Spec.Requirer
			if index == object.ByRequirer {
				here, there = there, here
			}
			if concerned(here) {
				c.changed(cmp.Or(there.Namespace, r.Namespace), there.Application)
			}
		}
	}
}

// secretChanged reports the applications that a secret concerns, each in its namespace: a reader in
// another namespace is recorded as web.shop. The revisions of a view leave secrets out: the numbers of their own
// revisions only grow, so that an agent recognizes an older one.
func (c changes) secretChanged(event any) {
	o, _ := objectOf(event)
	s, ok := o.(*v1alpha1.RelatedSecret)
	if !ok {
		return
	}
	for _, application := range object.Concerned(s) {
		name, elsewhere, _ := strings.Cut(application, ".")
		c.changed(cmp.Or(elsewhere, s.Namespace), name)
	}
}
