package kube

import (
	"context"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// memory is a Reader of what the test has put there, with the indexes of Index.
type memory map[reflect.Type]map[client.ObjectKey]client.Object

func (m memory) put(all ...client.Object) {
	for _, o := range all {
		kind := reflect.TypeOf(o)
		if m[kind] == nil {
			m[kind] = map[client.ObjectKey]client.Object{}
		}
		m[kind][client.ObjectKeyFromObject(o)] = o
	}
}

func (m memory) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	o, ok := m[reflect.TypeOf(into)][key]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: reflect.TypeOf(into).String()}, key.Name)
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(o.DeepCopyObject()).Elem())
	return nil
}

func (m memory) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	var options client.ListOptions
	options.ApplyOptions(opts)
	item := reflect.TypeOf(into).Elem()
	field, _ := item.FieldByName("Items")
	var found []runtime.Object
	for _, o := range m[reflect.PointerTo(field.Type.Elem())] {
		if options.Namespace != "" && o.GetNamespace() != options.Namespace || !indexed(o, options) {
			continue
		}
		found = append(found, o)
	}
	slices.SortFunc(found, func(a, b runtime.Object) int { return compareNames(a, b) })
	return meta.SetList(into, found)
}

func compareNames(a, b runtime.Object) int {
	x, _ := meta.Accessor(a)
	y, _ := meta.Accessor(b)
	if x.GetNamespace()+"/"+x.GetName() < y.GetNamespace()+"/"+y.GetName() {
		return -1
	}
	return 1
}

func indexed(o client.Object, options client.ListOptions) bool {
	if options.FieldSelector == nil {
		return true
	}
	if b, isBag := o.(*v1alpha1.Databag); isBag {
		if want, asked := options.FieldSelector.RequiresExactMatch(fieldRelation); asked {
			return b.Spec.Relation == want
		}
	}
	if s, isSecret := o.(*v1alpha1.RelatedSecret); isSecret {
		want, asked := options.FieldSelector.RequiresExactMatch(byConcerned)
		return asked && slices.ContainsFunc(concerned(s), func(application string) bool { return endKey(s.Namespace, "", application) == want })
	}
	for field, values := range map[string]func(client.Object) []string{byPending: pending, byConsumer: consumers, byProviderNamespace: providerNamespace} {
		if want, asked := options.FieldSelector.RequiresExactMatch(field); asked {
			return slices.Contains(values(o), want)
		}
	}
	r, ok := o.(*v1alpha1.Relation)
	if !ok {
		return false
	}
	for _, want := range options.FieldSelector.Requirements() {
		end := r.Spec.Requirer
		if want.Field == byProvider {
			end = r.Spec.Provider
		}
		if endKey(end.Namespace, r.Namespace, end.Application) != want.Value {
			return false
		}
	}
	return true
}
