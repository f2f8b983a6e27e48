package relation

import (
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// Namespace identifies a namespace: one that is made again under its name has another UID.
type Namespace struct{ Name, UID string }

// Offer is a namespace's consent that applications of others relate to an endpoint
// of one of its own (RELATIONS.md M6).
type Offer struct {
	// Namespace is the provider's, and the Offer's own.
	Namespace, Name, UID string
	// Application and Endpoint name the offered endpoint.
	Application, Endpoint string
	// Consumers are the namespaces to which it is offered, each with the UID that it had when it was first seen;
	// none before that (TRUST.md T8).
	Consumers []Namespace
	// Secrets are those of the namespace's Secrets that the endpoint may grant to them.
	Secrets []string
	// Seen says that its state is about what it says now.
	Seen  bool
	State OfferState
}

// OfferState is the published state of an Offer.
type OfferState struct {
	// Relations is how many are open by it.
	Relations int
	// Replaced are the consumers that were made again, as they are now.
	Replaced   []Namespace
	Conditions []condition.Condition
}

// End returns the end that is offered.
func (o Offer) End() End {
	return End{Namespace: o.Namespace, Application: o.Application, Endpoint: o.Endpoint}
}

// Consumer returns the namespace of that name as the Offer knows it, and whether the Offer names it.
func (o Offer) Consumer(name string) (known Namespace, named bool) {
	i := slices.IndexFunc(o.Consumers, func(n Namespace) bool { return n.Name == name })
	if i < 0 {
		return Namespace{}, false
	}
	return o.Consumers[i], true
}

// Covers reports whether applications of a namespace may relate to what is offered. A namespace that the Offer
// has not seen may not yet.
func (o Offer) Covers(n Namespace) bool { return n.UID != "" && slices.Contains(o.Consumers, n) }

// Continues reports whether the Offer has opened a relation before it knew the namespace of the requirer, as Offers
// did that are older than the record of UIDs.
func (o Offer) Continues(r Relation) bool {
	known, named := o.Consumer(r.Requirer.Namespace)
	return named && known.UID == "" && r.State.Offer == o.Name && r.Provider == o.End()
}

// Outlived reports whether the Offer is to an earlier namespace of a namespace's name.
func (o Offer) Outlived(n Namespace) bool {
	known, _ := o.Consumer(n.Name)
	return known.UID != "" && n.UID != "" && known.UID != n.UID
}

// Admit returns the consumers with the UIDs of those that are seen for the first time, and whether there are any.
// now returns the UID of a namespace, which is empty if there is none.
func (o Offer) Admit(now func(name string) string) (consumers []Namespace, differs bool) {
	consumers = slices.Clone(o.Consumers)
	for i, n := range consumers {
		if n.UID == "" {
			consumers[i].UID = now(n.Name)
			differs = differs || consumers[i].UID != ""
		}
	}
	return consumers, differs
}

// Under returns a relation as the Offers of its provider's namespace leave it. The request to open it is an object in
// the requirer's namespace, where more people may write than the provider trusts: without an Offer it is not open.
// Nor is it open if one of the namespaces was made again: now returns the UID of a namespace. One that was open and was
// restored without its status is open by the Offer that covers it.
func (r Relation) Under(offers []Offer, now func(name string) string) Relation {
	r.Uncovered, r.lent = r.Abroad(), nil
	if !r.Abroad() || r.Outlives(now(r.Provider.Namespace)) {
		return r
	}
	requirer := Namespace{Name: r.Requirer.Namespace, UID: now(r.Requirer.Namespace)}
	for _, o := range offers {
		if o.End() == r.Provider && o.Covers(requirer) || o.Continues(r) {
			r.Uncovered, r.lent = false, append(r.lent, o.Secrets...)
			if restored(&r.State) {
				r.State.Offer = o.Name
			}
		}
	}
	return r
}

// restored reports whether a relation that was open has no status: it was restored, and no controller has looked at it.
func restored(s *State) bool { return s.Status == "" && s.Offer == "" && s.ProviderUID != "" }

// Outlives reports whether the relation is with an earlier namespace of its provider's name: uid is that of the
// present one, empty if it is unknown.
func (r Relation) Outlives(uid string) bool {
	return r.State.ProviderUID != "" && uid != "" && uid != r.State.ProviderUID
}
