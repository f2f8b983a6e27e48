package kube

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// Views answers the relations API from the informers of one replica.
type Views struct {
	Reader client.Reader
	// Changed is called with each application whose view may have changed.
	Changed func(namespace, application string)
	// PodChanged is called with each pod that came, changed or went.
	PodChanged func(namespace, name string)

	mu     sync.Mutex
	heard  map[string]uint64
	stores map[string]toolscache.Store
}

// Follow starts to tell of changes and to count revisions. It returns when the
// informers have synced.
func (v *Views) Follow(ctx context.Context, informers cache.Cache) error {
	for kind, o := range map[string]client.Object{
		"relations": &v1alpha1.Relation{}, "relatedapplications": &v1alpha1.RelatedApplication{},
		"databags": &v1alpha1.Databag{}, "offers": &v1alpha1.Offer{}, "pods": &corev1.Pod{},
	} {
		if err := v.follow(ctx, informers, kind, o); err != nil {
			return fmt.Errorf("cannot follow %s: %w", kind, err)
		}
	}
	if err := v.followSecrets(ctx, informers); err != nil {
		return err
	}
	for _, o := range []client.Object{object.ReplicaSet(), &batchv1.Job{}} { // owners of pods
		if _, err := informers.GetInformer(ctx, o); err != nil {
			return fmt.Errorf("cannot follow %T: %w", o, err)
		}
	}
	return nil
}

func (v *Views) follow(ctx context.Context, informers cache.Cache, kind string, o client.Object) error {
	informer, err := informers.GetInformer(ctx, o)
	if err != nil {
		return fmt.Errorf("cannot get the informer: %w", err)
	}
	seen := func(event any) { v.seen(ctx, kind, event) }
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    seen,
		UpdateFunc: func(before, after any) { v.updated(ctx, kind, before, after) },
		DeleteFunc: seen,
	})
	if err != nil {
		return fmt.Errorf("cannot add a handler: %w", err)
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return fmt.Errorf("cannot sync: %w", context.Cause(ctx))
	}
	if kind == "pods" {
		return nil // whether a pod lives is no part of a view
	}
	store, err := object.StoreOf(ctx, informers, o)
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.stores == nil {
		v.stores = map[string]toolscache.Store{}
	}
	v.stores[kind] = store
	return nil
}

// seen runs after the informer's store has the object, so that a revision is
// never ahead of what can be read.
func (v *Views) seen(ctx context.Context, kind string, event any) {
	if gone, ok := event.(toolscache.DeletedFinalStateUnknown); ok {
		event = gone.Obj
	}
	o, ok := event.(client.Object)
	if !ok {
		return
	}
	if kind != "pods" {
		v.raise(kind, object.Revision(o))
	}
	switch typed := o.(type) {
	case *v1alpha1.Relation:
		v.relationChanged(typed)
	case *v1alpha1.RelatedApplication:
		v.Changed(typed.Namespace, typed.Name)
	case *v1alpha1.Databag:
		v.bagChanged(ctx, typed)
	case *v1alpha1.Offer:
		v.Changed(typed.Namespace, typed.Spec.Application)
		v.tellOthers(ctx, typed.Namespace, typed.Spec.Application, func(e v1alpha1.RelationEnd) bool { return e.Endpoint == typed.Spec.Endpoint })
	case *corev1.Pod:
		v.PodChanged(typed.Namespace, typed.Name)
	}
}

// relationChanged tells both ends, a provider of another namespace once it has
// consented.
func (v *Views) relationChanged(r *v1alpha1.Relation) {
	v.Changed(r.Namespace, r.Spec.Requirer.Application)
	if r.Spec.Provider != r.Spec.Requirer && object.Consented(r) {
		v.Changed(cmp.Or(r.Spec.Provider.Namespace, r.Namespace), r.Spec.Provider.Application)
	}
}

// bagChanged tells whoever reads the bag: who wrote it, and the other ends. An
// emptied outbox concerns all to whom its application speaks.
func (v *Views) bagChanged(ctx context.Context, b *v1alpha1.Databag) {
	v.Changed(b.Namespace, b.Spec.Application)
	v.tellOthers(ctx, b.Namespace, b.Spec.Application, func(e v1alpha1.RelationEnd) bool {
		return b.Spec.Purpose == v1alpha1.PurposeOutbox || e.Endpoint == b.Spec.Endpoint
	})
}

// updated is seen for what was there before. Of an application, what is new in its
// units and in what it grants is told to its others too; all else is its own affair,
// and there may be ten thousand others. That its leader goes on leading is told to
// nobody.
func (v *Views) updated(ctx context.Context, kind string, before, after any) {
	was, ok := before.(*v1alpha1.RelatedApplication)
	is, same := after.(*v1alpha1.RelatedApplication)
	if !ok || !same {
		if offer, is := before.(*v1alpha1.Offer); is {
			v.seen(ctx, kind, offer) // whom it was about before
		}
		v.seen(ctx, kind, after)
		return
	}
	if object.OnlyRenews(is, was) {
		v.raise(kind, object.Revision(is))
		return
	}
	v.seen(ctx, kind, after)
	if !slices.EqualFunc(was.Status.Units, is.Status.Units, object.SameToOthers) || !slices.Equal(was.Status.Grants, is.Status.Grants) {
		v.tellOthers(ctx, is.Namespace, is.Name, func(v1alpha1.RelationEnd) bool { return true })
	}
}

// tellOthers tells the applications at the other ends of those relations of an
// application whose own end is concerned.
func (v *Views) tellOthers(ctx context.Context, namespace, application string, concerned func(v1alpha1.RelationEnd) bool) {
	for _, index := range []string{object.ByProvider, object.ByRequirer} {
		var list v1alpha1.RelationList
		if err := object.List(ctx, v.Reader, &list, object.At(index, namespace, application)); err != nil {
			return
		}
		for i := range list.Items {
			r := &list.Items[i]
			here, there := r.Spec.Provider, r.Spec.Requirer
			if index == object.ByRequirer {
				here, there = there, here
			}
			if concerned(here) {
				v.Changed(cmp.Or(there.Namespace, r.Namespace), there.Application)
			}
		}
	}
}

func (v *Views) raise(kind string, to uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.heard == nil {
		v.heard = map[string]uint64{}
	}
	v.heard[kind] = max(v.heard[kind], to)
}

// Revisions returns, for each kind, the highest revision of an object that was
// heard of here or shown in a view: nothing that was viewed before is newer
// (SAFETY.md V4). A deletion that came while a watch was down is not heard of;
// what is absent is unknown, not new (SAFETY.md E13).
func (v *Views) Revisions() map[string]uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.heard)
}

// CaughtUp returns the revision that each kind is known to be at: what is viewed
// later is at least as new. It also counts what the API server said of objects
// that are not here, and when. Replicas that hold the same differ in it, so that
// it is not for agents.
func (v *Views) CaughtUp() map[string]uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	all := make(map[string]uint64, len(v.stores))
	for kind, store := range v.stores {
		all[kind] = max(v.heard[kind], object.ParseRevision(store.LastStoreSyncResourceVersion()))
	}
	return all
}

// looks is how often a view is taken again because its bags changed meanwhile.
const looks = 5

// View returns what an application may see, with each transaction whole. It fails
// with relation.ErrUnsettled as long as it cannot (SAFETY.md E11); of what is in the way,
// Changed tells later. What others say to each other is never in the way. It fails with
// relation.ErrUnreadable while something that it needs cannot be read: a view never lacks units, data or
// relations for that.
func (v *Views) View(ctx context.Context, namespace, application string) (relation.View, error) {
	for range looks {
		bags := bagsRead{}
		view, err := v.look(ctx, namespace, application, bags)
		if err != nil {
			return relation.View{}, err
		}
		settled, err := v.settled(ctx, namespace, view)
		if err != nil {
			return relation.View{}, err
		}
		if settled && v.unchanged(ctx, bags) {
			return view, nil
		}
	}
	return relation.View{}, relation.ErrUnsettled
}

// settled reports whether nobody whose bags are in a view has a transaction on
// its way. Of who is not open to it nothing is waited for: that would tell of it
// (SAFETY.md M7).
func (v *Views) settled(ctx context.Context, namespace string, view relation.View) (bool, error) {
	speakers := map[string]bool{object.AtEnd(namespace, view.Application): true}
	for _, r := range view.Relations {
		if r.Open() {
			speakers[object.AtEnd(r.There.Namespace, r.There.Application)] = true
		}
	}
	for speaker := range speakers {
		var list v1alpha1.DatabagList
		if err := v.Reader.List(ctx, &list, client.MatchingFields{object.ByPending: speaker}, client.UnsafeDisableDeepCopy); err != nil {
			return false, fmt.Errorf("%w: cannot list transactions: %w", relation.ErrUnreadable, err)
		}
		if len(list.Items) > 0 {
			return false, nil
		}
	}
	return true, nil
}

func (v *Views) look(ctx context.Context, namespace, application string, bags bagsRead) (relation.View, error) {
	record := relation.Record{Name: application}
	var app v1alpha1.RelatedApplication
	err := v.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: application}, &app, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return relation.View{}, fmt.Errorf("%w: cannot read application %s: %w", relation.ErrUnreadable, application, err)
	}
	if err == nil {
		v.raise("relatedapplications", object.Revision(&app))
		if record, err = convert.ToRecord(&app); err != nil {
			return relation.View{}, fmt.Errorf("%w: %w", relation.ErrUnreadable, err)
		}
	}
	leader := convert.ToLeader(&app)
	relations, err := v.relations(ctx, namespace, application)
	if err != nil {
		return relation.View{}, err
	}
	l := looking{Views: v, ctx: ctx, bags: bags}
	view := relation.Look(namespace, record, relations, l.shelf())
	view.Leader = leader
	return view, l.unreadable
}

// relations returns the relations of which the application is an end.
func (v *Views) relations(ctx context.Context, namespace, application string) ([]relation.Relation, error) {
	var relations []relation.Relation
	for _, index := range []string{object.ByRequirer, object.ByProvider} {
		var list v1alpha1.RelationList
		if err := v.Reader.List(ctx, &list, object.At(index, namespace, application), client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("%w: cannot list the relations of %s: %w", relation.ErrUnreadable, application, err)
		}
		for i := range list.Items {
			v.raise("relations", object.Revision(&list.Items[i]))
			r, err := convert.ToRelation(&list.Items[i])
			if err == nil {
				r, err = v.underOffers(ctx, r)
			}
			if err != nil {
				return nil, fmt.Errorf("%w: %w", relation.ErrUnreadable, err)
			}
			if index == object.ByRequirer || !r.Peer() { // a peer relation is in both
				relations = append(relations, r)
			}
		}
	}
	return relations, nil
}

// underOffers returns a relation as this replica's Offers leave it.
func (v *Views) underOffers(ctx context.Context, r relation.Relation) (relation.Relation, error) {
	if !r.Abroad() {
		return r, nil
	}
	offers, newest, err := object.OffersOf(ctx, v.Reader, r.Provider.Namespace)
	if err != nil {
		return r, err
	}
	v.raise("offers", newest)
	return r.Under(offers), nil
}
