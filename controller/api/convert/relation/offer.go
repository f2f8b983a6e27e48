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
		Application: o.Spec.Application, Endpoint: o.Spec.Endpoint, Consumers: toConsumers(o.Spec), Secrets: o.Spec.Secrets,
		Seen: o.Generation == o.Status.ObservedGeneration,
		State: relation.OfferState{
			Relations: int(o.Status.Relations), Replaced: toNamespaces(o.Status.ReplacedNamespaces),
			Conditions: value.Conditions(o.Status.Conditions),
		},
	}
}

// toConsumers returns the namespaces that an Offer names, with the UIDs that it has of them.
func toConsumers(spec v1alpha1.OfferSpec) []relation.Namespace {
	uids := map[string]string{}
	for _, n := range spec.ConsumerNamespaces {
		uids[n.Name] = n.UID
	}
	var all []relation.Namespace
	for _, name := range spec.Consumers {
		all = append(all, relation.Namespace{Name: name, UID: uids[name]})
	}
	return all
}

// KeepOffer writes the UIDs of the consumers into the object itself.
func KeepOffer(o *v1alpha1.Offer, d relation.Offer) {
	o.Spec.ConsumerNamespaces = fromNamespaces(d.Consumers)
}

func toNamespaces(stored []v1alpha1.NamespaceIdentity) []relation.Namespace {
	var all []relation.Namespace
	for _, n := range stored {
		all = append(all, relation.Namespace{Name: n.Name, UID: n.UID})
	}
	return all
}

// fromNamespaces leaves out those that have not been seen.
func fromNamespaces(all []relation.Namespace) []v1alpha1.NamespaceIdentity {
	var stored []v1alpha1.NamespaceIdentity
	for _, n := range all {
		if n.UID != "" {
			stored = append(stored, v1alpha1.NamespaceIdentity{Name: n.Name, UID: n.UID})
		}
	}
	return stored
}

// SetOffer writes the domain's state into the status.
func SetOffer(o *v1alpha1.Offer, s relation.OfferState, now time.Time) {
	o.Status.ObservedGeneration = o.Generation
	o.Status.Relations = int64(s.Relations)
	o.Status.ReplacedNamespaces = fromNamespaces(s.Replaced)
	o.Status.Conditions = value.SetConditions(o.Status.Conditions, s.Conditions, o.Generation, now)
}
