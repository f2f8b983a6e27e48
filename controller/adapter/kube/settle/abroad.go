package settle

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// offers reads what the namespace itself offers.
func (o observer) offers(ctx context.Context, s *relation.Snapshot) error {
	var list v1alpha1.OfferList
	unseen := o.latest.unseen(scope{reflect.TypeFor[*v1alpha1.Offer](), s.Namespace})
	if err := o.reader.List(ctx, &list, client.InNamespace(s.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("cannot list offers: %w", err)
	}
	s.Namespaces = map[string]string{}
	for _, offer := range merge(object.Pointers(list.Items), unseen) {
		if offer.DeletionTimestamp != nil {
			continue
		}
		s.Offers = append(s.Offers, convert.ToOffer(offer))
		for _, name := range offer.Spec.Consumers {
			uid, err := object.NamespaceUID(ctx, o.reader, name)
			if err != nil {
				return err
			}
			s.Namespaces[name] = uid
		}
	}
	return nil
}

// consumers reads the relations of other namespaces to this one.
func (o observer) consumers(ctx context.Context, s *relation.Snapshot) error {
	var list v1alpha1.RelationList
	to := client.MatchingFields{object.ByProviderNamespace: s.Namespace}
	if err := o.reader.List(ctx, &list, to, client.UnsafeDisableDeepCopy); err != nil {
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

// abroad reads from other namespaces what they offer to this one, what its own relations were ever opened to, and the
// requirers of those that have ended. It reads nothing else there, which could make a difference (SAFETY.md M7).
func (o observer) abroad(ctx context.Context, s *relation.Snapshot) error {
	var list v1alpha1.OfferList
	if err := o.reader.List(ctx, &list, client.MatchingFields{object.ByConsumer: s.Namespace}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("cannot list the offers of other namespaces: %w", err)
	}
	other := journey{ctx: ctx, reader: o.reader, live: o.live, by: map[string]*relation.Abroad{}, seen: map[string]bool{}}
	for i := range list.Items {
		found := &list.Items[i]
		if found.Namespace == s.Namespace || found.DeletionTimestamp != nil {
			continue
		}
		offer := convert.ToOffer(found)
		at := other.namespace(found.Namespace)
		at.Offers = append(at.Offers, offer)
		other.application(at, offer.Application)
		other.bag(at, relation.Databag{Application: offer.Application, Endpoint: offer.Endpoint})
	}
	for _, r := range s.Relations {
		if !r.Abroad() || !r.Opened() {
			continue
		}
		at := other.namespace(r.Provider.Namespace)
		other.application(at, r.Provider.Application)
		other.bag(at, relation.Databag{Application: r.Provider.Application, Endpoint: r.Provider.Endpoint})
		other.bag(at, relation.Databag{Application: r.Provider.Application, Endpoint: r.Provider.Endpoint, Relation: r.UID})
	}
	for _, r := range s.Consumers {
		if r.Ended() && r.Open() {
			other.application(other.namespace(r.Requirer.Namespace), r.Requirer.Application)
		}
	}
	if err := o.sidesAbroad(ctx, s.Namespace, &other); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(other.by)) {
		s.Abroad = append(s.Abroad, *other.by[name])
	}
	s.Unreadable = append(s.Unreadable, other.unreadable...)
	return other.err
}

// sidesAbroad reads what the namespaces of providers keep of this namespace's relations.
func (o observer) sidesAbroad(ctx context.Context, namespace string, other *journey) error {
	var list v1alpha1.RelationSideList
	if err := o.reader.List(ctx, &list, client.MatchingFields{object.ByOtherNamespace: namespace}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("cannot list the sides of other namespaces: %w", err)
	}
	for i := range list.Items {
		side := &list.Items[i]
		switch d, err := convert.ToRelationSide(side); {
		case d.Requirer.Namespace != namespace:
		case err != nil:
			other.unreadable = append(other.unreadable, convert.UnreadableSide(side, d, err))
		default:
			at := other.namespace(side.Namespace)
			at.Sides = append(at.Sides, d)
		}
	}
	return nil
}

// journey reads each object of other namespaces once, until the first error.
type journey struct {
	ctx    context.Context //nolint:containedctx // lives for one call
	reader client.Reader
	live   client.Reader
	by     map[string]*relation.Abroad
	// seen are the objects that were read, as type and key.
	seen       map[string]bool
	unreadable []relation.Unreadable
	err        error
}

// get reads an object for the first time, and reports whether it is there.
func (j *journey) get(key client.ObjectKey, o client.Object) bool {
	id := fmt.Sprintf("%T %s", o, key)
	if j.err != nil || j.seen[id] {
		return false
	}
	j.seen[id] = true
	err := j.reader.Get(j.ctx, key, o, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		j.err = fmt.Errorf("cannot read %s: %w", id, err)
	}
	return err == nil
}

func (j *journey) namespace(name string) *relation.Abroad {
	if at := j.by[name]; at != nil {
		return at
	}
	var ns corev1.Namespace
	there := j.get(client.ObjectKey{Name: name}, &ns)
	j.by[name] = &relation.Abroad{
		Namespace: name, UID: string(ns.UID),
		OptedIn: there && ns.DeletionTimestamp == nil && ns.Labels[application.LabelOptIn] == application.OptedIn,
		Ending:  there && ns.DeletionTimestamp != nil || !there && j.gone(name),
	}
	return j.by[name]
}

// gone reports whether the API server itself knows no namespace of that name: a cache may only lag behind.
func (j *journey) gone(name string) bool {
	err := j.live.Get(j.ctx, client.ObjectKey{Name: name}, &corev1.Namespace{})
	if client.IgnoreNotFound(err) != nil {
		j.err = fmt.Errorf("cannot read namespace %s: %w", name, err)
	}
	return apierrors.IsNotFound(err)
}

func (j *journey) application(at *relation.Abroad, name string) {
	var app v1alpha1.RelatedApplication
	if !j.get(client.ObjectKey{Namespace: at.Namespace, Name: name}, &app) {
		return
	}
	if record, err := convert.ToRecord(&app); err != nil {
		j.unreadable = append(j.unreadable, convert.UnreadableRecord(&app, err))
	} else {
		at.Records = append(at.Records, record)
	}
}

func (j *journey) bag(at *relation.Abroad, of relation.Databag) {
	var stored v1alpha1.Databag
	if !j.get(client.ObjectKey{Namespace: at.Namespace, Name: of.Name()}, &stored) {
		return
	}
	if bag, err := convert.ToDatabag(&stored); err != nil {
		j.unreadable = append(j.unreadable, convert.UnreadableDatabag(&stored, bag, err))
	} else if stored.State.Version != "" {
		at.Databags = append(at.Databags, bag)
	}
}
