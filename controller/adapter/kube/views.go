package kube

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// The indexes by which views find relations.
const (
	byRequirer = "requirer"
	byProvider = "provider"
)

// Views answers the relations API from the informers of one replica.
type Views struct {
	Reader client.Reader
	// Changed is called with each application whose view may have changed.
	Changed func(namespace, application string)
	// PodChanged is called with each pod that came, changed or went.
	PodChanged func(namespace, name string)

	mu        sync.Mutex
	revisions map[string]uint64
}

// Index declares the indexes; it must come before the informers start.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	index := func(field string, end func(*v1alpha1.Relation) v1alpha1.RelationEnd) error {
		err := indexer.IndexField(ctx, &v1alpha1.Relation{}, field, func(o client.Object) []string {
			r, ok := o.(*v1alpha1.Relation)
			if !ok {
				return nil
			}
			e := end(r)
			return []string{endKey(e.Namespace, r.Namespace, e.Application)}
		})
		if err != nil {
			return fmt.Errorf("cannot index relations by %s: %w", field, err)
		}
		return nil
	}
	if err := index(byRequirer, func(r *v1alpha1.Relation) v1alpha1.RelationEnd { return r.Spec.Requirer }); err != nil {
		return err
	}
	return index(byProvider, func(r *v1alpha1.Relation) v1alpha1.RelationEnd { return r.Spec.Provider })
}

func endKey(namespace, own, application string) string {
	if namespace == "" {
		namespace = own
	}
	return namespace + "/" + application
}

// Follow starts to tell of changes and to count revisions. It returns when the
// informers have synced.
func (v *Views) Follow(ctx context.Context, informers cache.Cache) error {
	v.revisions = map[string]uint64{}
	for kind, o := range map[string]client.Object{
		"relations": &v1alpha1.Relation{}, "relatedapplications": &v1alpha1.RelatedApplication{},
		"databags": &v1alpha1.Databag{}, "pods": &corev1.Pod{},
	} {
		if err := v.follow(ctx, informers, kind, o); err != nil {
			return fmt.Errorf("cannot follow %s: %w", kind, err)
		}
	}
	_, err := informers.GetInformer(ctx, ReplicaSet())
	if err != nil {
		return fmt.Errorf("cannot follow ReplicaSets: %w", err)
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
		AddFunc: seen, UpdateFunc: func(_, o any) { seen(o) }, DeleteFunc: seen,
	})
	if err != nil {
		return fmt.Errorf("cannot add a handler: %w", err)
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return fmt.Errorf("cannot sync: %w", context.Cause(ctx))
	}
	if shared, ok := informer.(toolscache.SharedIndexInformer); ok {
		// What was deleted before this replica began is in no object's
		// revision, but in that of the list.
		v.raise(kind, parseRevision(shared.LastSyncResourceVersion()))
	}
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
	v.raise(kind, revision(o))
	switch typed := o.(type) {
	case *v1alpha1.Relation:
		v.Changed(typed.Namespace, typed.Spec.Requirer.Application)
	case *v1alpha1.RelatedApplication:
		v.Changed(typed.Namespace, typed.Name)
	case *v1alpha1.Databag:
		v.bagChanged(ctx, typed)
	case *corev1.Pod:
		v.PodChanged(typed.Namespace, typed.Name)
	}
}

func (v *Views) bagChanged(ctx context.Context, b *v1alpha1.Databag) {
	var list v1alpha1.RelationList
	if err := v.Reader.List(ctx, &list, client.MatchingFields{byProvider: endKey("", b.Namespace, b.Spec.Application)}, client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	for i := range list.Items {
		if r := &list.Items[i]; r.Spec.Provider.Endpoint == b.Spec.Endpoint {
			v.Changed(r.Namespace, r.Spec.Requirer.Application)
		}
	}
}

func (v *Views) raise(kind string, to uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.revisions[kind] = max(v.revisions[kind], to)
}

// Revisions returns the highest revision of each kind that can be read here
// (SAFETY.md V4).
func (v *Views) Revisions() map[string]uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	all := make(map[string]uint64, len(v.revisions))
	for kind, n := range v.revisions {
		if kind != "pods" {
			all[kind] = n
		}
	}
	return all
}

// Pod returns the application of a living pod; ok is false if no pod of that
// UID and service account lives here (SAFETY.md S4).
func (v *Views) Pod(ctx context.Context, namespace, name, uid, account string) (application string, ok bool) {
	var p corev1.Pod
	if err := v.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &p); err != nil {
		return "", false
	}
	if string(p.UID) != uid || p.Spec.ServiceAccountName != account {
		return "", false
	}
	return Owners{v.Reader}.Application(ctx, &p)
}

// View returns what an application may see.
func (v *Views) View(ctx context.Context, namespace, application string) (relation.View, error) {
	record := relation.Record{Name: application}
	var app v1alpha1.RelatedApplication
	err := v.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: application}, &app, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return relation.View{}, fmt.Errorf("cannot read application %s: %w", application, err)
	}
	if err == nil {
		if record, err = app.ToDomain(); err != nil {
			return relation.View{}, err
		}
	}
	var list v1alpha1.RelationList
	if err := v.Reader.List(ctx, &list, client.MatchingFields{byRequirer: endKey("", namespace, application)}, client.UnsafeDisableDeepCopy); err != nil {
		return relation.View{}, fmt.Errorf("cannot list the relations of %s: %w", application, err)
	}
	var relations []relation.Relation
	for i := range list.Items {
		if r, err := list.Items[i].ToDomain(); err == nil {
			relations = append(relations, r)
		}
	}
	return relation.Look(record, relations, func(e relation.End) map[string]string { return v.bag(ctx, e) }), nil
}

func (v *Views) bag(ctx context.Context, e relation.End) map[string]string {
	var b v1alpha1.Databag
	key := client.ObjectKey{Namespace: e.Namespace, Name: relation.DatabagName(e.Application, e.Endpoint)}
	if err := v.Reader.Get(ctx, key, &b, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	return b.Status.Data
}
