package kube

import (
	"context"
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// shelf is what is said, as this replica knows it.
func (v *Views) shelf(ctx context.Context, bags bagsRead) relation.Shelf {
	bag := func(namespace string, bag relation.Databag) v1alpha1.DatabagStatus {
		key := client.ObjectKey{Namespace: namespace, Name: bag.Name()}
		b := v.stored(ctx, key)
		if _, again := bags[key]; !again {
			bags[key] = b.ResourceVersion
		}
		v.raise("databags", object.Revision(&b))
		return b.Status
	}
	everybody := func(e relation.End) map[string]string {
		return bag(e.Namespace, relation.Databag{Application: e.Application, Endpoint: e.Endpoint}).Data
	}
	here := func(r relation.Relation, e relation.End) v1alpha1.DatabagStatus {
		return bag(e.Namespace, relation.Databag{Application: e.Application, Endpoint: e.Endpoint, Relation: r.UID})
	}
	return relation.Shelf{
		Bag: func(r relation.Relation, e relation.End) map[string]string {
			return databag.Overlay(everybody(e), here(r, e).Data)
		},
		Writer: func(r relation.Relation, e relation.End) string {
			if len(everybody(e)) > 0 {
				return "" // what is declared may be newer
			}
			return here(r, e).Writer
		},
		Said: func(r relation.Relation, e relation.End, unit int) map[string]string {
			return bag(e.Namespace, relation.Databag{Application: e.Application, Endpoint: e.Endpoint, Relation: r.UID, Unit: strconv.Itoa(unit)}).Data
		},
		Units:  func(e relation.End) []application.Unit { return v.units(ctx, e) },
		Grants: func(e relation.End) []relation.Grant { return v.grants(ctx, e) },
	}
}

// application returns what is remembered of the application of an end; nothing if it is
// not there.
func (v *Views) application(ctx context.Context, e relation.End) (app v1alpha1.RelatedApplication) {
	if err := v.Reader.Get(ctx, client.ObjectKey{Namespace: e.Namespace, Name: e.Application}, &app, client.UnsafeDisableDeepCopy); err != nil {
		return v1alpha1.RelatedApplication{}
	}
	v.raise("relatedapplications", object.Revision(&app))
	return app
}

func (v *Views) units(ctx context.Context, e relation.End) []application.Unit {
	app := v.application(ctx, e)
	record, err := app.ToDomain()
	if err != nil {
		return nil
	}
	return record.State.Units
}

func (v *Views) grants(ctx context.Context, e relation.End) []relation.Grant {
	app := v.application(ctx, e)
	grants, err := app.GrantsToDomain()
	if err != nil {
		return nil
	}
	return grants
}

// stored returns a databag as it is in memory; an empty one if it is not there.
func (v *Views) stored(ctx context.Context, key client.ObjectKey) (b v1alpha1.Databag) {
	if err := v.Reader.Get(ctx, key, &b, client.UnsafeDisableDeepCopy); err != nil {
		return v1alpha1.Databag{}
	}
	return b
}

// bagsRead are the resource versions of the databags that a view was made of, each
// when it was first read; empty for one that was not there.
type bagsRead map[client.ObjectKey]string

// unchanged reports whether all of a view's bags are as they were read: there was
// then a moment, after all were read, at which they stood together.
func (v *Views) unchanged(ctx context.Context, bags bagsRead) bool {
	for key, at := range bags {
		if b := v.stored(ctx, key); b.ResourceVersion != at {
			return false
		}
	}
	return true
}
