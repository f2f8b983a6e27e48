package object

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// OffersOf returns the Offers of a namespace, and their highest revision.
func OffersOf(ctx context.Context, reader client.Reader, namespace string) (offers []relation.Offer, newest uint64, err error) {
	var list v1alpha1.OfferList
	if err := reader.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, 0, fmt.Errorf("cannot list the offers of namespace %s: %w", namespace, err)
	}
	for i := range list.Items {
		offers = append(offers, convert.ToOffer(&list.Items[i]))
		newest = max(newest, Revision(&list.Items[i]))
	}
	return offers, newest, nil
}
