package negotiation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
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

// covers reports whether applications of a namespace may relate to an end.
func (o Offer) covers(namespace string, e End) bool {
	return o.Namespace == e.Namespace && o.Application == e.Application && o.Endpoint == e.Endpoint && slices.Contains(o.Consumers, namespace)
}

// Under returns a relation as the Offers of its provider's namespace leave it. That
// it is open is said by an object in the requirer's namespace, where more people may
// write than the provider trusts: no Offer, and it is not.
func (r Relation) Under(offers []Offer) Relation {
	r.Uncovered, r.lent = r.Abroad(), nil
	for _, o := range offers {
		if o.covers(r.Requirer.Namespace, r.Provider) {
			r.Uncovered, r.lent = false, append(r.lent, o.Secrets...)
		}
	}
	return r
}

// Abroad is what another namespace holds that relations of this one may be about.
// What it does not offer counts for nothing, so that nobody learns whether it is
// there (SAFETY.md M7); but who has been open to each other hears of the end.
type Abroad struct {
	Namespace string
	// OptedIn says that it takes part: what a namespace offers that has opted out, or
	// is ending, is withdrawn.
	OptedIn  bool
	Offers   []Offer
	Records  []Record
	Databags []Databag
}

// arrive puts what another namespace offers where it is looked for.
func (n *negotiation) arrive(from Abroad) {
	for _, r := range from.Records {
		n.records[End{Namespace: from.Namespace, Application: r.Name}] = r
		for _, g := range r.State.Grants {
			n.grants[End{from.Namespace, r.Name, g.Endpoint}] = g
		}
	}
	for _, b := range from.Databags {
		if b.Relation == "" {
			n.stored[End{from.Namespace, b.Application, b.Endpoint}] = b
		} else if b.Unit == "" {
			n.said[speaker{b.Relation, from.Namespace, b.Application}] = b.Data
		}
	}
	for _, o := range from.Offers {
		if e := (End{from.Namespace, o.Application, o.Endpoint}); from.OptedIn && o.covers(n.Namespace, e) {
			n.consents[e], n.lent[e] = append(n.consents[e], o.Name), append(n.lent[e], o.Secrets...)
			n.accept(e)
		}
	}
}

// accept notes an end that is offered, as far as its application provides it.
func (n *negotiation) accept(e End) {
	site := End{Namespace: e.Namespace, Application: e.Application}
	offered := n.offered[site]
	offered.Name = e.Application
	for _, endpoint := range n.record(e).State.Endpoints {
		if endpoint.Name == e.Endpoint && endpoint.Role == application.Provider && !slices.Contains(offered.Endpoints, endpoint) {
			offered.Endpoints = append(offered.Endpoints, endpoint)
		}
	}
	n.offered[site] = offered
}

// consent returns a relation across namespaces open as long as an Offer covers it, and
// suspended when none does any more. That ends nothing (SAFETY.md E14). One that has
// ended before it was open is never opened: no unit would have heard of it.
func (n *negotiation) consent(r Relation) Relation {
	if !r.Abroad() {
		return r
	}
	by := n.consents[r.Provider]
	switch {
	case r.State.Offer == "" && (!r.Alive() || !n.fitsOffer(r)):
	case len(by) > 0:
		r.State.SuspendedSince, r.State.Closed = time.Time{}, nil
		if !slices.Contains(by, r.State.Offer) {
			r.State.Offer = slices.Min(by)
		}
	case r.Open():
		r.State.SuspendedSince = n.Now
	}
	return r
}

// fitsOffer reports whether a relation is by the interface that is offered: one that a
// person made says which, and by that the provider's writes are judged.
func (d *directory) fitsOffer(r Relation) bool {
	a, there := d.app(r.Provider)
	e, _ := a.Endpoint(r.Provider.Endpoint)
	return there && e.Interface == r.Interface && (e.Version == 0 || r.Version == 0 || e.Version == r.Version)
}

// resolveAbroad is resolveOne for an application of another namespace.
func (n *negotiation) resolveAbroad(a application.Application, ref application.Reference) (*Pair, *Obstacle) {
	if n.answeredAbroad(a, ref) {
		return nil, nil
	}
	b, offered := n.offered[End{Namespace: ref.Namespace, Application: ref.Application}]
	if !offered {
		return nil, &Obstacle{Reference: ref, Reason: ReasonNoOffer, Message: noOffer(ref.Namespace, ref.Application)}
	}
	if len(b.Endpoints) == 0 {
		return nil, &Obstacle{Reference: ref, Reason: ReasonNoMatch, Message: fmt.Sprintf(
			"an Offer of namespace %s names %s, but %[2]s provides nothing that is offered yet: see kubectl -n %[1]s get offers", ref.Namespace, ref.Application)}
	}
	pair, obstacle := infer(end{n.Namespace, a}, end{ref.Namespace, b}, ref)
	if obstacle != nil {
		return nil, obstacle
	}
	return &pair, nil
}

// noOffer says the same whether the application exists or not (SAFETY.md M7).
func noOffer(namespace, name string) string {
	return fmt.Sprintf("namespace %s offers no application %s to this namespace: ask there for an Offer that names it and this namespace", namespace, name)
}

// closed says why the sides of a relation may not see each other.
func (n *negotiation) closed(r Relation) []condition.Condition {
	if a, offered := n.app(r.Provider); offered && r.State.Offer == "" {
		e, _ := a.Endpoint(r.Provider.Endpoint)
		return condition.Stuck(ReasonNoMatch,
			fmt.Sprintf("%s is offered with interface %s, not %s: end the relation and declare it with that interface",
				r.Provider.Written(n.Namespace), e.Interface, r.Interface))
	}
	if r.State.Offer == "" {
		return condition.Stuck(ReasonNoOffer, noOffer(r.Provider.Namespace, r.Provider.Application))
	}
	return condition.Stuck(ReasonSuspended, fmt.Sprintf(
		"namespace %s no longer offers %s to this namespace: the relation resumes when it is offered again", r.Provider.Namespace, r.Provider))
}

// answer says of each Offer of the namespace what became of it.
func (n *negotiation) answer() []Decision {
	var decisions []Decision
	for _, o := range n.Offers {
		is := OfferState{}
		var users []string
		for _, r := range n.Consumers {
			if r.Open() && r.State.Offer == o.Name {
				users = append(users, r.Requirer.Written(n.Namespace))
			}
		}
		is.Relations, is.Conditions = len(users), n.offerConditions(o, users)
		if !o.Seen || o.State.Relations != is.Relations || !slices.Equal(o.State.Conditions, is.Conditions) {
			o.Seen, o.State = true, is
			decisions = append(decisions, Answer{o})
		}
	}
	return decisions
}

func (n *negotiation) offerConditions(o Offer, users []string) []condition.Condition {
	a, there := n.apps[o.Application]
	endpoint, declared := a.Endpoint(o.Endpoint)
	switch {
	case n.OptedOut:
		return condition.Stuck(ReasonOptedOut,
			"this namespace has not opted in, so its Offers have no effect: "+application.OptIn(n.Namespace))
	case !there && n.services[o.Application] != "":
		return condition.Stuck(ReasonNoApplication, fmt.Sprintf("Service %s belongs to application %s: offer that application", o.Application,
			n.services[o.Application]))
	case !there:
		return condition.Waiting(ReasonNoApplication, fmt.Sprintf("no application named %s exists in this namespace yet%s", o.Application,
			n.near(o.Application)))
	case !declared || endpoint.Role != application.Provider:
		return condition.Waiting(ReasonNoMatch, fmt.Sprintf("%s provides no endpoint %s: it %s", o.Application, o.Endpoint, offers(end{n.Namespace, a})))
	case len(users) == 0:
		return condition.Settled(ReasonOffered, "no relation uses this Offer yet")
	default:
		slices.Sort(users)
		return condition.Settled(ReasonOffered, "used by "+listed(users))
	}
}

// suspended tells a provider whose relations wait for an Offer to return.
func (n *negotiation) suspended(a application.Application) []condition.Condition {
	var all []string
	for _, r := range n.Consumers {
		if r.Provider.Application == a.Name && r.State.Offer != "" && !r.Open() {
			all = append(all, fmt.Sprintf("%s with %s", r.Provider.Endpoint, r.Requirer.Written(n.Namespace)))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return []condition.Condition{{Type: condition.Suspended, True: true, Reason: ReasonNoOffer,
		Message: fmt.Sprintf("no Offer covers these relations any more: %s: create an Offer that lists these namespaces as consumers, "+
			"or end the relations there", listed(all))}}
}

func byNamespace(a, b Abroad) int { return strings.Compare(a.Namespace, b.Namespace) }

func byOffer(a, b Offer) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}
