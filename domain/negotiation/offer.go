package negotiation

import (
	"fmt"
	"slices"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// offers says what Offers open.
type offers struct{ *facts }

// consent returns a relation across namespaces open as long as an Offer covers it, and
// suspended when none does any more. That ends nothing (SAFETY.md E14). One that has
// ended before it was open is never opened: no unit would have heard of it.
func (o offers) consent(r relation.Relation) relation.Relation {
	if !r.Abroad() {
		return r
	}
	by := o.consents[r.Provider]
	switch {
	case r.State.Offer == "" && (!r.Alive() || !o.fitsOffer(r)):
	case len(by) > 0:
		r.State.SuspendedSince, r.State.Closed = time.Time{}, nil
		if !slices.Contains(by, r.State.Offer) {
			r.State.Offer = slices.Min(by)
		}
	case r.Open():
		r.State.SuspendedSince = o.Now
	}
	return r
}

// fitsOffer reports whether a relation is by the interface that is offered: one that a
// person made says which, and by that the provider's writes are judged.
func (d *directory) fitsOffer(r relation.Relation) bool {
	a, there := d.app(r.Provider)
	e, _ := a.Endpoint(r.Provider.Endpoint)
	return there && e.Interface == r.Interface && (e.Version == 0 || r.Version == 0 || e.Version == r.Version)
}

// inferAbroad completes a relation with an application of another namespace.
func (d *directory) inferAbroad(a application.Application, ref application.Reference) (relation.Pair, *relation.Obstacle) {
	b, offered := d.offered[relation.End{Namespace: ref.Namespace, Application: ref.Application}]
	if !offered {
		message := noOffer(ref.Namespace, ref.Application)
		return relation.Pair{}, &relation.Obstacle{Reference: ref, Reason: relation.ReasonNoOffer, Message: message}
	}
	if d.unknown[relation.End{Namespace: ref.Namespace, Application: ref.Application}] {
		message := unreadableAbroad(ref.Namespace, ref.Application)
		return relation.Pair{}, &relation.Obstacle{Reference: ref, Reason: relation.ReasonUnreadable, Message: message}
	}
	if len(b.Endpoints) == 0 {
		return relation.Pair{}, &relation.Obstacle{Reference: ref, Reason: relation.ReasonNoMatch, Message: fmt.Sprintf(
			"an Offer of namespace %s names %s, but %[2]s provides nothing that is offered yet: see kubectl -n %[1]s get offers",
			ref.Namespace, ref.Application)}
	}
	return infer(end{d.namespace, a}, end{ref.Namespace, b}, ref)
}

// noOffer returns the same whether the application exists or not (SAFETY.md M7).
func noOffer(namespace, name string) string {
	return fmt.Sprintf("namespace %s offers no application %s to this namespace: ask there for an Offer that names it and this namespace",
		namespace, name)
}

// unreadableAbroad returns that it is unknown what is offered.
func unreadableAbroad(namespace, name string) string {
	return fmt.Sprintf("%s %s of namespace %s cannot be read: it must be corrected there", relation.KindRecord, name, namespace)
}

// closed returns why the sides of a relation may not see each other.
func (d *directory) closed(r relation.Relation) []condition.Condition {
	if a, offered := d.app(r.Provider); offered && r.State.Offer == "" {
		e, _ := a.Endpoint(r.Provider.Endpoint)
		return condition.Stuck(relation.ReasonNoMatch,
			fmt.Sprintf("%s is offered with interface %s, not %s: end the relation and declare it with that interface",
				r.Provider.Written(d.namespace), e.Interface, r.Interface))
	}
	if r.State.Offer == "" {
		return condition.Stuck(relation.ReasonNoOffer, noOffer(r.Provider.Namespace, r.Provider.Application))
	}
	return condition.Stuck(relation.ReasonSuspended, fmt.Sprintf(
		"namespace %s no longer offers %s to this namespace: the relation resumes when it is offered again", r.Provider.Namespace, r.Provider))
}

// answers returns the states of the namespace's Offers, in their order.
func (o offers) answers() []relation.OfferState {
	var all []relation.OfferState
	for _, offer := range o.Offers {
		var users []string
		for _, r := range o.Consumers {
			if r.Open() && r.State.Offer == offer.Name {
				users = append(users, r.Requirer.Written(o.Namespace))
			}
		}
		all = append(all, relation.OfferState{Relations: len(users), Conditions: o.conditions(offer, users)})
	}
	return all
}

func (o offers) conditions(offer relation.Offer, users []string) []condition.Condition {
	a, there := o.apps[offer.Application]
	endpoint, declared := a.Endpoint(offer.Endpoint)
	switch {
	case o.OptedOut:
		return condition.Stuck(relation.ReasonOptedOut,
			"this namespace has not opted in, so its Offers have no effect: "+application.OptIn(o.Namespace))
	case !there && o.services[offer.Application] != "":
		return condition.Stuck(relation.ReasonNoApplication,
			fmt.Sprintf("Service %s belongs to application %s: offer that application", offer.Application, o.services[offer.Application]))
	case !there:
		return condition.Waiting(relation.ReasonNoApplication,
			fmt.Sprintf("no application named %s exists in this namespace yet%s", offer.Application, nearest(offer.Application, o.apps)))
	case !declared || endpoint.Role != application.Provider:
		return condition.Waiting(relation.ReasonNoMatch,
			fmt.Sprintf("%s provides no endpoint %s: it %s", offer.Application, offer.Endpoint, offersOf(end{o.Namespace, a})))
	case len(users) == 0:
		return condition.Settled(relation.ReasonOffered, "no relation uses this Offer yet")
	default:
		slices.Sort(users)
		return condition.Settled(relation.ReasonOffered, "used by "+listed(users))
	}
}

// suspended lists, for a provider, the relations that wait for an Offer to return.
func (o offers) suspended(a application.Application) []condition.Condition {
	var all []string
	for _, r := range o.Consumers {
		if r.Provider.Application == a.Name && r.State.Offer != "" && !r.Open() {
			all = append(all, fmt.Sprintf("%s with %s", r.Provider.Endpoint, r.Requirer.Written(o.Namespace)))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return []condition.Condition{{Type: condition.Suspended, True: true, Reason: relation.ReasonNoOffer,
		Message: fmt.Sprintf("no Offer covers these relations any more: %s: create an Offer that lists these namespaces as consumers, "+
			"or end the relations there", listed(all))}}
}
