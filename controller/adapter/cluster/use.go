package cluster

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// used names what would go with a definition and is not this deployment's: the objects
// of its kind.
func (w *World) used(ctx context.Context, o *unstructured.Unstructured) ([]bundle.Use, error) {
	if o.GetKind() != "CustomResourceDefinition" {
		return nil, nil
	}
	crd := bundle.Object(o.Object)
	kind := schema.GroupVersionKind{Group: crd.Text("spec", "group"), Kind: crd.Text("spec", "names", "kind"), Version: served(crd)}
	var all metav1.PartialObjectMetadataList
	all.SetGroupVersionKind(kind)
	if err := w.client.List(ctx, &all); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("cannot find out whether %s is in use: %w", o.GetName(), err)
	}
	others := slices.DeleteFunc(all.Items, func(m metav1.PartialObjectMetadata) bool { return m.Annotations[bundle.OwnerKey] == w.owner })
	var uses []bundle.Use
	for _, m := range others {
		name := bundle.ID{Group: kind.Group, Kind: kind.Kind, Namespace: m.Namespace, Name: m.Name}.String()
		uses = append(uses, bundle.Use{Name: name, Owned: len(m.OwnerReferences) > 0})
	}
	return uses, nil
}

// served is a version in which the objects of a definition can be read.
func served(crd bundle.Object) string {
	versions, _ := crd.At("spec", "versions").([]any)
	for _, v := range versions {
		if fields, _ := v.(map[string]any); fields["served"] == true {
			return bundle.Object(fields).Text("name")
		}
	}
	return ""
}
