package scope

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// listWithin bounds one list of a namespace.
const listWithin = time.Minute

// listLive returns a function that lists the objects of a kind in a namespace, and the resourceVersion of the list.
func (s *Scope) listLive(of client.Object) func(context.Context, string) ([]runtime.Object, string, error) {
	return func(ctx context.Context, namespace string) ([]runtime.Object, string, error) {
		ctx, stop := context.WithTimeout(ctx, listWithin)
		defer stop()
		var all []runtime.Object
		for next := ""; ; {
			items, page, err := s.page(ctx, of, namespace, next)
			if err != nil {
				return nil, "", fmt.Errorf("cannot list %T in %s: %w", of, namespace, err)
			}
			if all, next = append(all, items...), page.GetContinue(); next == "" {
				return all, page.GetResourceVersion(), nil
			}
		}
	}
}

// page lists as many objects of a namespace as one page has.
func (s *Scope) page(ctx context.Context, of client.Object, namespace, next string) ([]runtime.Object, metav1.ListInterface, error) {
	page, err := emptyList(of)
	if err != nil {
		return nil, nil, err
	}
	if err := s.live.List(ctx, page, client.InNamespace(namespace), client.Limit(pageSize), client.Continue(next)); err != nil {
		return nil, nil, err //nolint:wrapcheck // the caller does
	}
	items, err := meta.ExtractListWithAlloc(page)
	for _, item := range items { // metadata has its kind in caches
		item.GetObjectKind().SetGroupVersionKind(of.GetObjectKind().GroupVersionKind())
	}
	return items, page, err //nolint:wrapcheck // the caller does
}

// emptyList returns an empty list of a kind.
func emptyList(of client.Object) (client.ObjectList, error) {
	kind, err := apiutil.GVKForObject(of, clientscheme.Scheme)
	if err != nil {
		return nil, fmt.Errorf("cannot list %T: %w", of, err)
	}
	kind.Kind += "List"
	if _, metadata := of.(*metav1.PartialObjectMetadata); metadata {
		var list metav1.PartialObjectMetadataList
		list.SetGroupVersionKind(kind)
		return &list, nil
	}
	made, err := clientscheme.Scheme.New(kind)
	if err != nil {
		return nil, fmt.Errorf("cannot list %T: %w", of, err)
	}
	list, is := made.(client.ObjectList)
	if !is {
		return nil, fmt.Errorf("cannot list %T: unexpected type %T", of, made)
	}
	return list, nil
}
