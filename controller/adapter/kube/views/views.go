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
	holdings
}

// looks is how often a view is taken again because bags changed meanwhile.
const looks = 5

// View returns what an application may see, with each transaction whole from its commit point on (TRUST.md T10): a view
// waits for no delivery. It fails with relation.ErrUnsettled while bags change too fast, until Changed reports a
// change. It fails with relation.ErrUnreadable while something that it needs cannot be read: a view never lacks units,
// data or relations for that.
func (v *Views) View(ctx context.Context, namespace, application string) (relation.View, error) {
	l := lookup{Views: v, ctx: ctx, writers: map[string]*writer{}}
	for range looks {
		view, err := v.look(ctx, namespace, application, &l)
		if err != nil {
			return relation.View{}, err
		}
		if l.settled() {
			return view, nil
		}
	}
	return relation.View{}, relation.ErrUnsettled
}

func (v *Views) look(ctx context.Context, namespace, application string, l *lookup) (relation.View, error) {
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
	sides, err := v.sides(ctx, namespace, application)
	if err != nil {
		return relation.View{}, err
	}
	view := relation.Look(namespace, record, relations, sides, l.shelf())
	view.Leader = leader
	return view, l.failed
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
	current, _ := relation.Current(relations)
	return current, nil
}

// sides returns the sides of an application's relations, and those of their providers, which tell whether an end is held.
func (v *Views) sides(ctx context.Context, namespace, application string) ([]relation.Side, error) {
	var list v1alpha1.RelationSideList
	if err := v.Reader.List(ctx, &list, object.At(object.BySide, namespace, application), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("%w: cannot list the sides of %s: %w", relation.ErrUnreadable, application, err)
	}
	var all []relation.Side
	for i := range list.Items {
		v.raise("relationsides", object.Revision(&list.Items[i]))
		side, err := convert.ToRelationSide(&list.Items[i])
		if err != nil {
			return nil, fmt.Errorf("%w: %w", relation.ErrUnreadable, err)
		}
		all = append(all, side)
	}
	return all, nil
}

// underOffers returns a relation as the Offers in the cache leave it.
func (v *Views) underOffers(ctx context.Context, r relation.Relation) (relation.Relation, error) {
	if !r.Abroad() {
		return r, nil
	}
	r, newest, err := object.UnderOffers(ctx, v.Reader, r)
	v.raise("offers", newest)
	return r, err
}
