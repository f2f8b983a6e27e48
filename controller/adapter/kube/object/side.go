package object

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// SidesOf returns what a namespace keeps of the relation with that identity. It fails if it cannot read one of them.
func SidesOf(ctx context.Context, reader client.Reader, namespace, identity string) ([]relation.Side, error) {
	var list v1alpha1.RelationSideList
	err := reader.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{v1alpha1.LabelRelation: identity})
	if err != nil {
		return nil, fmt.Errorf("cannot list the sides of relation %s: %w", identity, err)
	}
	var all []relation.Side
	for i := range list.Items {
		side, err := convert.ToRelationSide(&list.Items[i])
		switch {
		case side.Relation != identity:
		case err != nil:
			return nil, err
		default:
			all = append(all, side)
		}
	}
	return all, nil
}
