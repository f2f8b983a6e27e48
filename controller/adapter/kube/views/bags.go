package views

import (
	"context"
	"fmt"
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// lookup reads what one view shows, from the caches.
type lookup struct {
	*Views

	ctx context.Context //nolint:containedctx // lives for one call
	// writers have the databags that were read, by object.AtEnd.
	writers map[string]*writer
	// failed is why something could not be read, which is unknown and not absent.
	failed error
}

// shelf returns the functions by which a view finds bags, units and grants.
func (l *lookup) shelf() relation.Shelf {
	return relation.Shelf{
		Bag: func(r relation.Relation, e relation.End) map[string]string {
			return databag.Overlay(l.shared(e), l.own(r, e).Data)
		},
		Writer: func(r relation.Relation, e relation.End) string {
			if len(l.shared(e)) > 0 {
				return "" // what is declared may be newer
			}
			return l.own(r, e).Writer
		},
		Said: func(r relation.Relation, e relation.End, unit int) map[string]string {
			b := relation.Databag{Application: e.Application, Endpoint: e.Endpoint, Relation: r.UID, Unit: strconv.Itoa(unit)}
			return l.bag(e.Namespace, b).Data
		},
		Units: l.units, Grants: l.grants,
	}
}

// shared returns the bag that the application of an end declares for all its relations.
func (l *lookup) shared(e relation.End) map[string]string {
	return l.bag(e.Namespace, relation.Databag{Application: e.Application, Endpoint: e.Endpoint}).Data
}

// own returns the application's bag in one relation.
func (l *lookup) own(r relation.Relation, e relation.End) v1alpha1.DatabagState {
	return l.bag(e.Namespace, relation.Databag{Application: e.Application, Endpoint: e.Endpoint, Relation: r.UID})
}

func (l *lookup) bag(namespace string, of relation.Databag) v1alpha1.DatabagState {
	key := object.AtEnd(namespace, of.Application)
	w, again := l.writers[key]
	if !again {
		var err error
		if w, err = newWriter(l.ctx, l.Views, namespace, of.Application); err != nil {
			l.note(err)
			return v1alpha1.DatabagState{}
		}
		l.writers[key] = w
	}
	state, err := w.bag(l.ctx, of.Name())
	l.note(err)
	return state
}

// settled reports whether the databags of each application existed together at one moment. Those that did not are read
// again by the next look, so that the commits of some keep no view from being made.
func (l *lookup) settled() bool {
	whole := true
	for key, w := range l.writers {
		if !w.unchanged(l.ctx) {
			whole = false
			delete(l.writers, key)
		}
	}
	return whole
}

func (l *lookup) units(e relation.End) []application.Unit {
	app, err := l.application(l.ctx, e)
	l.note(err)
	record, err := convert.ToRecord(&app)
	l.note(err)
	return record.State.Units
}

func (l *lookup) grants(e relation.End) []relation.Grant {
	app, err := l.application(l.ctx, e)
	l.note(err)
	grants, err := convert.ToGrants(&app)
	l.note(err)
	return grants
}

// note keeps why something could not be read.
func (l *lookup) note(err error) {
	if err != nil {
		l.failed = fmt.Errorf("%w: %w", relation.ErrUnreadable, err)
	}
}

// application returns the record of the application of an end; an empty one if it does not exist.
func (v *Views) application(ctx context.Context, e relation.End) (app v1alpha1.RelatedApplication, err error) {
	if err := v.Reader.Get(ctx, client.ObjectKey{Namespace: e.Namespace, Name: e.Application}, &app,
		client.UnsafeDisableDeepCopy); err != nil {
		return v1alpha1.RelatedApplication{}, client.IgnoreNotFound(err)
	}
	v.raise("relatedapplications", object.Revision(&app))
	return app, nil
}

// stored returns a databag from the cache; an empty one if it does not exist.
func (v *Views) stored(ctx context.Context, key client.ObjectKey) (b v1alpha1.Databag, err error) {
	if err := v.Reader.Get(ctx, key, &b, client.UnsafeDisableDeepCopy); err != nil {
		return v1alpha1.Databag{}, client.IgnoreNotFound(err)
	}
	return b, nil
}
