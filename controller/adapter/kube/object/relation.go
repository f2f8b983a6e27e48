package object

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// RelationOf returns the current Relation of an identity, which is at key unless another one has taken it over
// (TRUST.md A11); nil if there is none. It lists the namespace only where another one may have.
func RelationOf(ctx context.Context, reader client.Reader, key client.ObjectKey, identity string) (*v1alpha1.Relation, error) {
	var r v1alpha1.Relation
	err := reader.Get(ctx, key, &r)
	if err == nil && convert.Identity(&r) == identity && r.DeletionTimestamp == nil && r.Status.HoldTime == nil {
		return &r, nil
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("cannot read relation %s: %w", key.Name, err)
	}
	var list v1alpha1.RelationList
	if err := reader.List(ctx, &list, client.InNamespace(key.Namespace)); err != nil {
		return nil, fmt.Errorf("cannot list the relations of %s: %w", key.Namespace, err)
	}
	var all []relation.Relation
	at := map[string]*v1alpha1.Relation{}
	for i := range list.Items {
		o := &list.Items[i]
		if o.State.Identity == identity || o.Name == key.Name && convert.Identity(o) == identity {
			d, _ := convert.ToRelation(o) // what of it is readable tells which is current
			all, at[o.Name] = append(all, d), o
		}
	}
	if current, _ := relation.Current(all); len(current) > 0 {
		return at[current[0].Name], nil
	}
	return nil, nil //nolint:nilnil // there is none
}
