package relation

import (
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/value"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// ToOffer returns an Offer as the domain knows it.
func ToOffer(o *v1alpha1.Offer) relation.Offer {
	return relation.Offer{
		Namespace: o.Namespace, Name: o.Name, UID: string(o.UID),
		Application: o.Spec.Application, Endpoint: o.Spec.Endpoint, Consumers: o.Spec.Consumers, Secrets: o.Spec.Secrets,
		Seen:  o.Generation == o.Status.ObservedGeneration,
		State: relation.OfferState{Relations: int(o.Status.Relations), Conditions: value.Conditions(o.Status.Conditions)},
	}
}

// SetOffer writes the domain's state into the status.
func SetOffer(o *v1alpha1.Offer, s relation.OfferState, now time.Time) {
	o.Status.ObservedGeneration = o.Generation
	o.Status.Relations = int64(s.Relations)
	o.Status.Conditions = value.SetConditions(o.Status.Conditions, s.Conditions, o.Generation, now)
}
