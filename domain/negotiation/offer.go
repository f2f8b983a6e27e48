package negotiation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// offers says what Offers open.
type offers struct{ *facts }

// replaced reports whether the namespace of a relation's provider was made again.
func (o offers) replaced(r relation.Relation) bool {
	return o.sides.outlived(r, o.uids[r.Provider.Namespace], o.unreadable.pairs)
}

// uid returns the UID of a namespace; empty for one that is not seen.
func (o offers) uid(namespace string) string {
	if namespace == o.Namespace {
		return o.UID
	}
	return o.Namespaces[namespace]
}

// consent returns a relation across namespaces open as long as an Offer covers it, and
// suspended when none does any more, or one of the namespaces was made again (TRUST.md T8).
// That ends nothing (SAFETY.md E14). One that has
// ended before it was open is never opened: no unit would have heard of it.
func (o offers) consent(r relation.Relation) relation.Relation {
	if !r.Abroad() {
		return r
	}
	by := o.consents[r.Provider]
	if o.replaced(r) {
		by = nil
	}
	switch {
	case r.State.Offer == "" && (!r.Alive() || !o.fitsOffer(r)):
	case len(by) > 0:
		r.State.SuspendedSince, r.State.Closed = time.Time{}, nil
		r.State.ProviderUID = o.uids[r.Provider.Namespace]
		if !slices.Contains(by, r.State.Offer) {
			r.State.Offer = slices.Min(by)
		}
	case r.Opened() && r.State.SuspendedSince.IsZero():
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
		reason, message := d.notOffered(relation.End{Namespace: ref.Namespace, Application: ref.Application})
		return relation.Pair{}, &relation.Obstacle{Reference: ref, Reason: reason, Message: message}
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

// notOffered returns why applications of this namespace may not relate to one of another.
func (d *directory) notOffered(application relation.End) (reason, message string) {
	if d.outlived[application] {
		return relation.ReasonNamespaceReplaced, fmt.Sprintf("namespace %s offers %s to an earlier namespace %s, which was deleted: "+
			"if the Offer is to be for this one too, renew it there: orcon offer renew -n %[1]s",
			application.Namespace, application.Application, d.namespace)
	}
	return relation.ReasonNoOffer, noOffer(application.Namespace, application.Application)
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
func (o offers) closed(r relation.Relation) []condition.Condition {
	application := relation.End{Namespace: r.Provider.Namespace, Application: r.Provider.Application}
	if o.replaced(r) {
		return condition.Stuck(relation.ReasonNamespaceReplaced, fmt.Sprintf("namespace %s was deleted and made again, "+
			"and this relation is with the earlier one: to relate to the new one, delete this one: kubectl -n %s delete relation %s",
			r.Provider.Namespace, o.Namespace, r.Name))
	}
	if a, offered := o.app(r.Provider); offered && r.State.Offer == "" {
		e, _ := a.Endpoint(r.Provider.Endpoint)
		return condition.Stuck(relation.ReasonNoMatch,
			fmt.Sprintf("%s is offered with interface %s, not %s: end the relation and declare it with that interface",
				r.Provider.Written(o.Namespace), e.Interface, r.Interface))
	}
	if reason, message := o.notOffered(application); !r.Opened() || reason == relation.ReasonNamespaceReplaced {
		return condition.Stuck(reason, message)
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
		is := relation.OfferState{Relations: len(users), Replaced: o.replacedConsumers(offer)}
		is.Conditions = condition.With(o.conditions(offer, users), outlivedText(offer, is.Replaced)...)
		all = append(all, is)
	}
	return all
}

// replacedConsumers returns the consumers of an Offer that were made again, as they are now, in order of name.
func (o offers) replacedConsumers(offer relation.Offer) []relation.Namespace {
	var all []relation.Namespace
	for _, known := range offer.Consumers {
		if now := (relation.Namespace{Name: known.Name, UID: o.Namespaces[known.Name]}); offer.Outlived(now) {
			all = append(all, now)
		}
	}
	return sorted(all, func(a, b relation.Namespace) int { return strings.Compare(a.Name, b.Name) })
}

// outlivedText returns that an Offer is to namespaces that were made again; nil if there are none.
func outlivedText(offer relation.Offer, replaced []relation.Namespace) []condition.Condition {
	if len(replaced) == 0 {
		return nil
	}
	var names []string
	for _, n := range replaced {
		names = append(names, n.Name)
	}
	return []condition.Condition{condition.New(condition.Suspended, true, relation.ReasonNamespaceReplaced, fmt.Sprintf(
		"Offer %s is to earlier namespaces of these names, which were deleted: %s: if it is to be for the new ones too: "+
			"orcon offer renew %[1]s -n %[3]s", offer.Name, listed(names), offer.Namespace))}
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

// suspended lists, for a provider, the relations that wait for an Offer to return, and the Offers to namespaces that
// were made again.
func (o offers) suspended(a application.Application) []condition.Condition {
	reason, replaced := relation.ReasonNoOffer, map[string]bool{}
	var all, texts []string
	for _, offer := range o.Offers {
		consumers := o.replacedConsumers(offer)
		for _, c := range outlivedText(offer, consumers) {
			if offer.Application == a.Name {
				reason, texts = c.Reason, append(texts, c.Message)
			}
		}
		for _, n := range consumers {
			replaced[n.Name] = true
		}
	}
	for _, r := range o.Consumers {
		if r.Provider.Application == a.Name && r.Opened() && !r.Open() && !replaced[r.Requirer.Namespace] {
			all = append(all, fmt.Sprintf("%s with %s", r.Provider.Endpoint, r.Requirer.Written(o.Namespace)))
		}
	}
	if len(all) > 0 {
		reason, texts = relation.ReasonNoOffer, append(texts, fmt.Sprintf("no Offer covers these relations any more: %s: "+
			"create an Offer that lists these namespaces as consumers, or end the relations there", listed(all)))
	}
	if len(texts) == 0 {
		return nil
	}
	return []condition.Condition{condition.New(condition.Suspended, true, reason, strings.Join(texts, "; "))}
}

// admissions stores the namespaces that Offers name and that are seen for the first time.
func (o offers) admissions() []relation.Decision {
	var decisions []relation.Decision
	for _, offer := range o.Offers {
		consumers, differs := offer.Admit(func(name string) string { return o.Namespaces[name] })
		if differs {
			offer.Consumers = consumers
			decisions = append(decisions, relation.Admit{Offer: offer})
		}
	}
	return decisions
}
