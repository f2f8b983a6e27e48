package cluster

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// taking is the way of a deployment (namespace/name) to take objects from others.
type taking struct {
	client client.Client
	owner  string
}

// clients returns the managers whose fields become this one's when it applies an object: itself, as the creator, and what
// applied the object on the client side if a deployment takes it from there.
func clients(o *unstructured.Unstructured, owner string) (sets.Set[string], error) {
	all := sets.New(Manager)
	if !(bundle.Live{Object: bundle.Object(o.Object)}).Migrates(owner) {
		return all, nil
	}
	all.Insert("oc", "kubectl-client-side-apply")
	for _, entry := range o.GetManagedFields() {
		fields := fieldpath.NewSet()
		if entry.FieldsV1 == nil || entry.Subresource != "" || entry.Operation != metav1.ManagedFieldsOperationUpdate {
			continue
		}
		if err := fields.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			return nil, fmt.Errorf("cannot read the fields of manager %s of %s %s: %w", entry.Manager, o.GetKind(), o.GetName(), err)
		}
		if slices.ContainsFunc(bundle.QontractMarks, func(key string) bool {
			return fields.Has(fieldpath.MakePathOrDie("metadata", "annotations", key))
		}) {
			all.Insert(entry.Manager)
		}
	}
	return all, nil
}

// migrated returns the fields that go when a deployment takes an object from a client and applies others: those that the
// client set, that no one else sets, and that the API server does not give the same value by default. after is the object
// with the applied fields.
func (t taking) migrated(ctx context.Context, live, after *unstructured.Unstructured, applied *fieldpath.Set) (*fieldpath.Set, error) {
	clients, err := clients(live, t.owner)
	if err != nil || len(clients) == 1 {
		return fieldpath.NewSet(), err
	}
	own := live.DeepCopy()
	if err := csaupgrade.UpgradeManagedFields(own, clients, Manager); err != nil {
		return nil, fmt.Errorf("cannot read who set its fields: %w", err)
	}
	was, err := ownership(own)
	if err != nil {
		return nil, err
	}
	stays := applied
	for _, h := range was.others {
		stays = stays.Union(h.fields)
	}
	gone, before, without := fieldpath.NewSet(), live.DeepCopy(), after.DeepCopy()
	before.SetManagedFields(nil)
	without.SetManagedFields(nil)
	for path := range was.missing(owners{applied: applied}).All() {
		top := highest(path, stays)
		gone.Insert(top)
		cut(without.Object, top)
	}
	if err := t.client.Patch(ctx, without, client.MergeFrom(before), client.DryRunAll, client.FieldOwner(Manager)); err != nil {
		return nil, err
	}
	differ := fieldpath.NewSet()
	for path := range gone.All() {
		was, _ := at(live.Object, path)
		if is, _ := at(without.Object, path); !reflect.DeepEqual(was, is) {
			differ.Insert(path)
		}
	}
	return differ, nil
}

// highest returns the shortest part of a path below which nothing stays.
func highest(path fieldpath.Path, stays *fieldpath.Set) fieldpath.Path {
	for n := 1; n < len(path); n++ {
		if below(stays, path[:n]).Empty() && !stays.Has(path[:n]) {
			return path[:n]
		}
	}
	return path
}

// cut removes the part of an object at a path.
func cut(object map[string]any, path fieldpath.Path) {
	last := path[len(path)-1]
	if last.FieldName != nil {
		if fields, ok := parent(object, path).(map[string]any); ok {
			delete(fields, *last.FieldName)
		}
		return
	}
	list, ok := parent(object, path).([]any)
	found, there := element(list, last)
	if !ok || !there {
		return
	}
	rest := slices.DeleteFunc(slices.Clone(list), func(one any) bool { return reflect.DeepEqual(one, found) })
	put(object, path[:len(path)-1], rest)
}

// parent returns the part of an object that has the end of a path.
func parent(object map[string]any, path fieldpath.Path) any {
	found, _ := at(object, path[:len(path)-1])
	return found
}
