package kube

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/interfaces"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// World is the cluster of the relations controller.
type World struct {
	// Reader reads from the informers.
	Reader client.Reader
	// Live reads from the API server itself.
	Live client.Reader
	// Writer writes to the API server.
	Writer client.Client
	// Events tells people.
	Events events.EventRecorder
	// Now is the clock.
	Now func() time.Time
	// Interfaces are those that are known; nil for none.
	Interfaces *interfaces.Catalogue
	// Account is the controller's ServiceAccount, as namespace:name.
	Account string
	// LookEvery is about how often Secrets that are granted are looked at; 30 s if unset.
	LookEvery time.Duration

	sights  sights
	overlay overlay
	stores  map[reflect.Type]toolscache.Store
}

// Follow has the world forget its writes as soon as the informers show them.
// It comes before the first Observe.
func (w *World) Follow(ctx context.Context, informers cache.Cache) error {
	w.stores = map[reflect.Type]toolscache.Store{}
	for _, kind := range []client.Object{&v1alpha1.Relation{}, &v1alpha1.RelatedApplication{}, &v1alpha1.Databag{}, &v1alpha1.Offer{}} {
		store, err := object.StoreOf(ctx, informers, kind)
		if err != nil {
			return err
		}
		w.stores[reflect.TypeOf(kind)] = store
	}
	return nil
}

// unseen returns by name what was written in a place and is in no cache yet. It
// must be called before the cache is read.
func (w *World) unseen(p place) map[string]client.Object {
	caughtUp := uint64(0)
	if store := w.stores[p.kind]; store != nil {
		caughtUp = object.ParseRevision(store.LastStoreSyncResourceVersion())
	}
	return w.overlay.unseen(p, caughtUp)
}

// Observe returns the namespace as the informers and this process last saw it.
// A namespace that has not opted in has no applications: what was related in it
// is held.
func (w *World) Observe(ctx context.Context, namespace string) (relation.Snapshot, error) {
	s := relation.Snapshot{Namespace: namespace, Now: w.Now().UTC().Truncate(time.Second), Account: w.Account}
	var ns corev1.Namespace
	if err := w.Reader.Get(ctx, client.ObjectKey{Name: namespace}, &ns); err != nil && !apierrors.IsNotFound(err) {
		return s, fmt.Errorf("cannot read namespace %s: %w", namespace, err)
	}
	s.Ending, s.Schema = ns.Name == "" || ns.DeletionTimestamp != nil, interfaces.ModeOf(&ns)
	if w.Interfaces != nil {
		s.Interfaces = w.Interfaces.Catalog(ctx)
	}
	if s.OptedOut = ns.Labels[application.LabelOptIn] != application.OptedIn; !s.OptedOut {
		in, err := inventory(ctx, w.Reader, namespace)
		if err != nil {
			return s, err
		}
		s.Applications, s.Orphans = application.Gather(in)
	}
	return s, errors.Join(
		w.observeRelations(ctx, &s), w.observeRecords(ctx, &s), w.observeDatabags(ctx, &s),
		w.observeOffers(ctx, &s), w.observeConsumers(ctx, &s), w.observeAbroad(ctx, &s),
		w.observeSecrets(ctx, &s),
	)
}

func (w *World) observeRelations(ctx context.Context, s *relation.Snapshot) error {
	var list v1alpha1.RelationList
	unseen := w.unseen(place{reflect.TypeFor[*v1alpha1.Relation](), s.Namespace})
	if err := w.Reader.List(ctx, &list, client.InNamespace(s.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("cannot list relations: %w", err)
	}
	for _, r := range merge(pointers(list.Items), unseen) {
		if d, err := convert.ToRelation(r); err != nil {
			s.Unreadable = append(s.Unreadable, convert.UnreadableRelation(r, d, err))
		} else {
			s.Relations = append(s.Relations, d)
		}
	}
	return nil
}

func (w *World) observeRecords(ctx context.Context, s *relation.Snapshot) error {
	var list v1alpha1.RelatedApplicationList
	unseen := w.unseen(place{reflect.TypeFor[*v1alpha1.RelatedApplication](), s.Namespace})
	if err := w.Reader.List(ctx, &list, client.InNamespace(s.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("cannot list applications: %w", err)
	}
	for _, a := range merge(pointers(list.Items), unseen) {
		if record, err := convert.ToRecord(a); err != nil {
			s.Unreadable = append(s.Unreadable, convert.UnreadableRecord(a, err))
		} else {
			s.Records = append(s.Records, record)
		}
	}
	return nil
}

func (w *World) observeDatabags(ctx context.Context, s *relation.Snapshot) error {
	var list v1alpha1.DatabagList
	unseen := w.unseen(place{reflect.TypeFor[*v1alpha1.Databag](), s.Namespace})
	if err := w.Reader.List(ctx, &list, client.InNamespace(s.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("cannot list databags: %w", err)
	}
	for _, b := range merge(pointers(list.Items), unseen) {
		bag, err := convert.ToDatabag(b)
		switch {
		case err != nil:
			s.Unreadable = append(s.Unreadable, convert.UnreadableDatabag(b, bag, err))
		case b.Spec.Purpose == v1alpha1.PurposeOutbox:
			if convert.Holds(b) {
				s.Outboxes = append(s.Outboxes, b.Name)
			}
		case b.Status.Version != "": // else a crash came before the content: it is published again
			s.Databags = append(s.Databags, bag)
		}
	}
	return nil
}

func pointers[T any](items []T) []*T {
	all := make([]*T, len(items))
	for i := range items {
		all[i] = &items[i]
	}
	return all
}
