package object

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// RelationOf returns the Relation of an identity, which is at key unless another one has taken it over
// (TRUST.md A11); nil if there is none.
func RelationOf(ctx context.Context, reader client.Reader, key client.ObjectKey, identity string) (*v1alpha1.Relation, error) {
	var r v1alpha1.Relation
	err := reader.Get(ctx, key, &r)
	if err == nil && convert.Identity(&r) == identity {
		return &r, nil
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("cannot read relation %s: %w", key.Name, err)
	}
	var list v1alpha1.RelationList
	if err := reader.List(ctx, &list, client.InNamespace(key.Namespace)); err != nil {
		return nil, fmt.Errorf("cannot list the relations of %s: %w", key.Namespace, err)
	}
	for i := range list.Items {
		if list.Items[i].State.Identity == identity {
			return &list.Items[i], nil
		}
	}
	return nil, nil //nolint:nilnil // there is none
}
