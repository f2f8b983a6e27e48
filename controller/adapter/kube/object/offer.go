package object

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// UnderOffers returns a relation across namespaces as the Offers of its provider's namespace leave it, and their
// highest revision.
func UnderOffers(ctx context.Context, reader client.Reader, r relation.Relation) (relation.Relation, uint64, error) {
	uids := map[string]string{}
	for _, end := range r.Ends() {
		uid, err := NamespaceUID(ctx, reader, end.Namespace)
		if err != nil {
			return r, 0, err
		}
		uids[end.Namespace] = uid
	}
	offers, newest, err := OffersOf(ctx, reader, r.Provider.Namespace)
	return r.Under(offers, func(name string) string { return uids[name] }), newest, err
}

// OffersOf returns the Offers of a namespace that are not being deleted, and the highest revision of all.
func OffersOf(ctx context.Context, reader client.Reader, namespace string) (offers []relation.Offer, newest uint64, err error) {
	var list v1alpha1.OfferList
	if err := reader.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, 0, fmt.Errorf("cannot list the offers of namespace %s: %w", namespace, err)
	}
	for i := range list.Items {
		newest = max(newest, Revision(&list.Items[i]))
		if list.Items[i].DeletionTimestamp == nil { // else it is withdrawn, however long its finalizers keep it
			offers = append(offers, convert.ToOffer(&list.Items[i]))
		}
	}
	return offers, newest, nil
}
