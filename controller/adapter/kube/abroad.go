package kube

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// observeOffers reads what the namespace itself offers.
func (w *World) observeOffers(ctx context.Context, s *relation.Snapshot) error {
	var list v1alpha1.OfferList
	unseen := w.unseen(place{reflect.TypeFor[*v1alpha1.Offer](), s.Namespace})
	if err := w.Reader.List(ctx, &list, client.InNamespace(s.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("cannot list offers: %w", err)
	}
	for _, o := range merge(pointers(list.Items), unseen) {
		if o.DeletionTimestamp == nil {
			s.Offers = append(s.Offers, convert.ToOffer(o))
		}
	}
	return nil
}

// observeConsumers reads the relations of other namespaces to this one.
func (w *World) observeConsumers(ctx context.Context, s *relation.Snapshot) error {
	var list v1alpha1.RelationList
	to := client.MatchingFields{object.ByProviderNamespace: s.Namespace}
	if err := w.Reader.List(ctx, &list, to, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("cannot list the relations of other namespaces: %w", err)
	}
	for i := range list.Items {
		if r, err := convert.ToRelation(&list.Items[i]); err != nil {
			s.Unreadable = append(s.Unreadable, convert.UnreadableRelation(&list.Items[i], r, err))
		} else {
			s.Consumers = append(s.Consumers, r)
		}
	}
	return nil
}

// observeAbroad reads of other namespaces what they offer to this one, and what its
// own relations were ever opened to. Nothing else of them is looked at, so that
// nothing else can make a difference (SAFETY.md M7).
func (w *World) observeAbroad(ctx context.Context, s *relation.Snapshot) error {
	var list v1alpha1.OfferList
	if err := w.Reader.List(ctx, &list, client.MatchingFields{object.ByConsumer: s.Namespace}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("cannot list the offers of other namespaces: %w", err)
	}
	journey := abroad{ctx: ctx, reader: w.Reader, by: map[string]*relation.Abroad{}, seen: map[string]bool{}}
	for i := range list.Items {
		o := &list.Items[i]
		if o.Namespace == s.Namespace || o.DeletionTimestamp != nil {
			continue
		}
		offer := convert.ToOffer(o)
		at := journey.namespace(o.Namespace)
		at.Offers = append(at.Offers, offer)
		journey.application(at, offer.Application)
		journey.bag(at, relation.Databag{Application: offer.Application, Endpoint: offer.Endpoint})
	}
	for _, r := range s.Relations {
		if !r.Abroad() || r.State.Offer == "" {
			continue
		}
		at := journey.namespace(r.Provider.Namespace)
		journey.application(at, r.Provider.Application)
		journey.bag(at, relation.Databag{Application: r.Provider.Application, Endpoint: r.Provider.Endpoint})
		journey.bag(at, relation.Databag{Application: r.Provider.Application, Endpoint: r.Provider.Endpoint, Relation: r.UID})
	}
	for _, name := range slices.Sorted(maps.Keys(journey.by)) {
		s.Abroad = append(s.Abroad, *journey.by[name])
	}
	s.Unreadable = append(s.Unreadable, journey.unreadable...)
	return journey.err
}

// abroad reads from other namespaces until the first error, each thing once.
type abroad struct {
	ctx    context.Context //nolint:containedctx // lives for one call
	reader client.Reader
	by     map[string]*relation.Abroad
	// seen are what was read, as kind and key.
	seen       map[string]bool
	unreadable []relation.Unreadable
	err        error
}

// get reads an object for the first time, and reports whether it is there.
func (a *abroad) get(key client.ObjectKey, o client.Object) bool {
	id := fmt.Sprintf("%T %s", o, key)
	if a.err != nil || a.seen[id] {
		return false
	}
	a.seen[id] = true
	err := a.reader.Get(a.ctx, key, o, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		a.err = fmt.Errorf("cannot read %s: %w", id, err)
	}
	return err == nil
}

func (a *abroad) namespace(name string) *relation.Abroad {
	if at := a.by[name]; at != nil {
		return at
	}
	var ns corev1.Namespace
	there := a.get(client.ObjectKey{Name: name}, &ns)
	a.by[name] = &relation.Abroad{
		Namespace: name, OptedIn: there && ns.DeletionTimestamp == nil && ns.Labels[application.LabelOptIn] == application.OptedIn,
	}
	return a.by[name]
}

func (a *abroad) application(at *relation.Abroad, name string) {
	var app v1alpha1.RelatedApplication
	if !a.get(client.ObjectKey{Namespace: at.Namespace, Name: name}, &app) {
		return
	}
	if record, err := convert.ToRecord(&app); err != nil {
		a.unreadable = append(a.unreadable, convert.UnreadableRecord(&app, err))
	} else {
		at.Records = append(at.Records, record)
	}
}

func (a *abroad) bag(at *relation.Abroad, of relation.Databag) {
	var stored v1alpha1.Databag
	if !a.get(client.ObjectKey{Namespace: at.Namespace, Name: of.Name()}, &stored) {
		return
	}
	if bag, err := convert.ToDatabag(&stored); err != nil {
		a.unreadable = append(a.unreadable, convert.UnreadableDatabag(&stored, bag, err))
	} else if stored.Status.Version != "" {
		at.Databags = append(at.Databags, bag)
	}
}
