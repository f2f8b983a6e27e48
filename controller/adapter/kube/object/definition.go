package object

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// Definition returns the metadata of the definition of a kind of Orcon, by its plural. An object that is deleted
// with its definition has not ended: it may be restored (TRUST.md T1).
func Definition(ctx context.Context, live client.Reader, plural string) (*metav1.PartialObjectMetadata, error) {
	definition := &metav1.PartialObjectMetadata{}
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	name := plural + "." + v1alpha1.GroupVersion.Group
	if err := live.Get(ctx, client.ObjectKey{Name: name}, definition); err != nil {
		return nil, fmt.Errorf("cannot read definition %s: %w", name, err)
	}
	return definition, nil
}

// DeletionEnds reports whether the deletion of an object is its end. It is not if the definition of its kind is being
// deleted, is nil for one that has gone, or is another one: what goes with a definition may be restored (TRUST.md T1).
func DeletionEnds(o client.Object, definition *metav1.PartialObjectMetadata) bool {
	created := o.GetCreationTimestamp()
	return definition != nil && definition.DeletionTimestamp.IsZero() && !created.Before(&definition.CreationTimestamp)
}
