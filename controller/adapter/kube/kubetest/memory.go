package kubetest

import (
	"context"
	"reflect"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// Epoch returns the time at which tests begin.
func Epoch() time.Time { return time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC) }

// Memory is a reader of the objects that a test has put there, with the indexes of the caches.
type Memory map[reflect.Type]map[client.ObjectKey]client.Object

// Put stores objects.
func (m Memory) Put(all ...client.Object) {
	for _, o := range all {
		kind := reflect.TypeOf(o)
		if m[kind] == nil {
			m[kind] = map[client.ObjectKey]client.Object{}
		}
		m[kind][client.ObjectKeyFromObject(o)] = o
	}
}

// Get implements client.Reader.
func (m Memory) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	o, ok := m[reflect.TypeOf(into)][key]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: reflect.TypeOf(into).String()}, key.Name)
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(o.DeepCopyObject()).Elem())
	return nil
}

// List implements client.Reader.
func (m Memory) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	var options client.ListOptions
	options.ApplyOptions(opts)
	item := reflect.TypeOf(into).Elem()
	field, _ := item.FieldByName("Items")
	var found []runtime.Object
	for _, o := range m[reflect.PointerTo(field.Type.Elem())] {
		if options.Namespace != "" && o.GetNamespace() != options.Namespace || !selected(o, options) {
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

func selected(o client.Object, options client.ListOptions) bool {
	if options.LabelSelector != nil && !options.LabelSelector.Matches(labels.Set(o.GetLabels())) {
		return false
	}
	if options.FieldSelector == nil {
		return true
	}
	for _, want := range options.FieldSelector.Requirements() {
		b, isBag := o.(*v1alpha1.Databag)
		switch {
		case isBag && want.Field == "spec.relation": // the API server's own
			if b.Spec.Relation != want.Value {
				return false
			}
		case !slices.Contains(object.Keys(want.Field, o), want.Value):
			return false
		}
	}
	return true
}

// Silent is a reader that fails.
type Silent struct {
	client.Reader

	// Failed is the error of each read.
	Failed error
}

// Get implements client.Reader.
func (s Silent) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return s.Failed
}

// List implements client.Reader.
func (s Silent) List(context.Context, client.ObjectList, ...client.ListOption) error { return s.Failed }
