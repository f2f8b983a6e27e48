package relation

import (
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// Offer is a namespace's consent that applications of others relate to an endpoint
// of one of its own (RELATIONS.md M6).
type Offer struct {
	// Namespace is the provider's, and the Offer's own.
	Namespace, Name, UID string
	// Application and Endpoint are what is offered.
	Application, Endpoint string
	// Consumers are the namespaces to which it is offered.
	Consumers []string
	// Secrets are those of the namespace's Secrets that the endpoint may grant to them.
	Secrets []string
	// Seen says that its state is about what it says now.
	Seen  bool
	State OfferState
}

// OfferState is what Orcon says of an Offer.
type OfferState struct {
	// Relations is how many are open by it.
	Relations  int
	Conditions []condition.Condition
}

// End returns the end that is offered.
func (o Offer) End() End {
	return End{Namespace: o.Namespace, Application: o.Application, Endpoint: o.Endpoint}
}

// Covers reports whether applications of a namespace may relate to an end.
func (o Offer) Covers(namespace string, e End) bool {
	return o.End() == e && slices.Contains(o.Consumers, namespace)
}

// Under returns a relation as the Offers of its provider's namespace leave it. That
// it is open is said by an object in the requirer's namespace, where more people may
// write than the provider trusts: no Offer, and it is not.
func (r Relation) Under(offers []Offer) Relation {
	r.Uncovered, r.lent = r.Abroad(), nil
	for _, o := range offers {
		if o.Covers(r.Requirer.Namespace, r.Provider) {
			r.Uncovered, r.lent = false, append(r.lent, o.Secrets...)
		}
	}
	return r
}
