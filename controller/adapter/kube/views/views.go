package views

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// Views shows what applications may see, from the informers of one replica.
type Views struct {
	Reader client.Reader
	// Changed is called with each application whose view may have changed.
	Changed func(namespace, application string)
	// PodChanged is called with each pod that was created, changed or deleted.
	PodChanged func(namespace, name string)

	revisions
}

// looks is how often a view is taken again because its bags changed meanwhile.
const looks = 5

// View returns what an application may see, with each transaction whole. It fails with
// relation.ErrUnsettled while a transaction of an application that it shows is being delivered, whose end
// Changed reports (SAFETY.md E11); transactions between others do not matter. It fails with
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

// settled reports whether no application whose bags are in a view has a transaction to be delivered.
// Nothing waits for an application that is not open to the view: that would reveal it (SAFETY.md M7).
func (v *Views) settled(ctx context.Context, namespace string, view relation.View) (bool, error) {
	writers := map[string]bool{object.AtEnd(namespace, view.Application): true}
	for _, r := range view.Relations {
		if r.Open() {
			writers[object.AtEnd(r.Shown.There.Namespace, r.Shown.There.Application)] = true
		}
	}
	for writer := range writers {
		var list v1alpha1.DatabagList
		if err := v.Reader.List(ctx, &list, client.MatchingFields{object.ByPending: writer}, client.UnsafeDisableDeepCopy); err != nil {
			return false, fmt.Errorf("%w: cannot list transactions: %w", relation.ErrUnreadable, err)
		}
		for i := range list.Items {
			if _, err := convert.ToDatabag(&list.Items[i]); err != nil { // its transaction is never delivered
				return false, fmt.Errorf("%w: %w", relation.ErrUnreadable, err)
			}
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
	l := lookup{Views: v, ctx: ctx, bags: bags}
	view := relation.Look(namespace, record, relations, l.shelf())
	view.Leader = leader
	return view, l.unreadable
}

// relations returns the relations of an application.
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

// underOffers returns a relation as the Offers in the cache leave it.
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
