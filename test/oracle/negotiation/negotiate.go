package negotiation

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// Negotiate returns what must happen for s to be settled, ordered so that equal
// snapshots always give equal decisions, whatever the order of their lists: ends
// first, then data, applications, relations, and last what nobody needs any
// more. wake is when to look again although nothing changes; zero for never.
//
// In a namespace that is ending nothing can be made any more, and all goes by
// itself: its relations are released, as soon as other namespaces have heard of
// their end, and nothing else is done.
func Negotiate(s Snapshot) (decisions []Decision, wake time.Time) {
	n := newNegotiation(s)
	n.admit()
	n.resolve()
	n.judgeRelations()
	n.judgeRefused()
	if s.Ending {
		return n.ends, n.wake
	}
	n.relate()
	n.judgeApplications()
	return slices.Concat(n.ends, deliver(n.Outboxes), n.publish(), n.remember, n.relates, n.updates, n.answer(), n.withdraw(), n.forgets), n.wake
}

// negotiation is one run of Negotiate: what it knows and what it has decided.
type negotiation struct {
	Snapshot
	directory
	related
	// refused are the manual relations that cannot be; nothing but their own status
	// shows them.
	refused []refusal
	// pairs are what is declared and not yet related.
	pairs []Pair
	// obstacles are why a reference of an application leads nowhere.
	obstacles map[string][]Obstacle
	// leftOut are what declares something and takes no part, by the application
	// that it would be of.
	leftOut map[string][]application.Fault
	// records are those there are, by the namespace and name of the application.
	records map[End]Record
	// consents are the names of the Offers that cover an end.
	consents map[End][]string
	// lent are the Secrets that those Offers list, by the end that they offer.
	lent map[End][]string
	// sources are the Secrets that are known, by name. grants is what becomes of them
	// and of those elsewhere, granted the same of each application of the namespace, in
	// order of endpoint, and refusals why an application's are not granted.
	sources  map[string]secret.Source
	grants   map[End]Grant
	granted  map[string][]Grant
	refusals map[string][]application.Fault
	// units and nextUnits are what the records of this namespace shall say of units.
	units     map[string][]application.Unit
	nextUnits map[string]int
	// mourned are the units whose departure a relation remembers.
	mourned map[departedFrom]bool
	// lastID is the highest id that is known, recorded the highest that a record
	// holds.
	lastID, recorded int
	// stored are the bags as they are.
	stored map[End]Databag
	// said are the application bags of single relations.
	said map[speaker]map[string]string
	// saidByUnits are the bags of the namespace's units.
	saidByUnits map[speaker][]Databag
	// fits remembers what is wrong with what is said to everybody.
	fits map[spoken][]schema.Violation

	ends, remember, relates, updates, forgets []Decision
	wake                                      time.Time
	// manyEnd is set where so many relations would end now that a person must agree.
	manyEnd bool
}

// speaker is who speaks in a relation: the UID of that, and an application.
type speaker struct{ relation, namespace, application string }

func newNegotiation(s Snapshot) *negotiation {
	s = inOrder(s)
	n := &negotiation{
		Snapshot: s, directory: newDirectory(s), related: newRelated(s),
		obstacles: map[string][]Obstacle{}, leftOut: map[string][]application.Fault{}, said: map[speaker]map[string]string{},
		saidByUnits: map[speaker][]Databag{}, fits: map[spoken][]schema.Violation{},
		records: map[End]Record{}, stored: map[End]Databag{}, consents: map[End][]string{},
		lent: map[End][]string{}, sources: byName(s.Secrets), grants: map[End]Grant{}, granted: map[string][]Grant{}, refusals: map[string][]application.Fault{},
		units: map[string][]application.Unit{}, nextUnits: map[string]int{}, mourned: map[departedFrom]bool{},
	}
	n.ignore()
	for i, a := range n.Applications {
		n.Applications[i] = n.withhold(a)
		n.enter(n.Applications[i])
	}
	for _, b := range n.Databags {
		by := speaker{b.Relation, s.Namespace, b.Application}
		switch {
		case b.Relation == "":
			n.stored[End{s.Namespace, b.Application, b.Endpoint}] = b
		case b.Unit == "":
			n.said[by] = b.Data
		default:
			n.saidByUnits[by] = append(n.saidByUnits[by], b)
		}
	}
	for _, r := range n.Relations {
		n.lastID = max(n.lastID, r.State.ID)
		if r.State.ID > 0 || !r.manual() {
			n.add(r)
		}
	}
	for _, r := range s.Records {
		n.records[End{Namespace: s.Namespace, Application: r.Name}] = r
		n.recorded = max(n.recorded, r.State.LastRelation)
	}
	n.lastID = max(n.lastID, n.recorded)
	for _, from := range n.Abroad {
		n.arrive(from)
	}
	n.number()
	n.grant()
	for _, r := range n.Consumers {
		n.mourn(r)
	}
	return n
}

// byName returns Secrets by their names.
func byName(secrets []secret.Source) map[string]secret.Source {
	all := map[string]secret.Source{}
	for _, s := range secrets {
		all[s.Name] = s
	}
	return all
}

// inOrder returns the snapshot with every list sorted. The caller's are left
// as they are.
func inOrder(s Snapshot) Snapshot {
	s.Applications = sorted(s.Applications, func(a, b application.Application) int { return strings.Compare(a.Name, b.Name) })
	s.Orphans = sorted(s.Orphans, func(a, b application.Fault) int {
		return cmp.Or(strings.Compare(a.Object, b.Object), strings.Compare(a.Message, b.Message))
	})
	s.Relations = sorted(s.Relations, byAge)
	s.Databags = sorted(s.Databags, func(a, b Databag) int {
		return cmp.Or(strings.Compare(a.Application, b.Application), strings.Compare(a.Endpoint, b.Endpoint),
			strings.Compare(a.Relation, b.Relation), strings.Compare(a.Unit, b.Unit))
	})
	s.Records = sorted(s.Records, func(a, b Record) int { return strings.Compare(a.Name, b.Name) })
	s.Offers, s.Abroad = sorted(s.Offers, byOffer), sorted(s.Abroad, byNamespace)
	s.Consumers = sorted(s.Consumers, func(a, b Relation) int { return strings.Compare(a.UID, b.UID) })
	return s
}

func sorted[T any](all []T, compare func(a, b T) int) []T {
	all = slices.Clone(all)
	slices.SortFunc(all, compare)
	return all
}

// record returns what is remembered of the application of an end.
func (n *negotiation) record(e End) Record {
	return n.records[End{Namespace: e.Namespace, Application: e.Application}]
}

// byAge orders relations: the one with the lowest id first, those without last.
func byAge(a, b Relation) int {
	const none = int(^uint(0) >> 1)
	order := func(r Relation) int {
		if r.State.ID == 0 {
			return none
		}
		return r.State.ID
	}
	if d := order(a) - order(b); d != 0 {
		return d
	}
	if d := a.Created.Compare(b.Created); d != 0 {
		return d
	}
	return strings.Compare(a.Name, b.Name)
}

// judgeRelations gives each relation the state it shall have.
func (n *negotiation) judgeRelations() {
	n.manyEnd = n.tooManyEnd()
	for i, before := range n.relations {
		r := before
		if r.State.ID == 0 && r.Declared {
			// A crash came between the object and its first state: it must not
			// end for want of a retention that nobody chose.
			r.State.Retain = n.retain(r.Key)
		}
		r, released := n.teardown(n.consent(r))
		r = n.life(r, n.declared[i])
		r.State.Departures = n.departures(r)
		n.mourn(r)
		r = n.judge(r)
		if !released {
			r = n.update(r, before)
		}
		n.relations[i] = r
	}
}

// update stores what is new of a relation, and deletes it if it has an end. It returns the
// relation with an id.
func (n *negotiation) update(r, before Relation) Relation {
	if r.State.ID == 0 {
		n.lastID++
		r.State.ID = n.lastID
	}
	if !reflect.DeepEqual(r.State, before.State) {
		n.updates = append(n.updates, Update{r})
	}
	if r.Deleted.IsZero() && r.State.EndReason != "" {
		n.updates = append(n.updates, Finish{r})
	}
	return r
}

func (n *negotiation) wakeAt(t time.Time) {
	if n.wake.IsZero() || t.Before(n.wake) {
		n.wake = t
	}
}

// relate makes the relations that are declared, within their limits.
func (n *negotiation) relate() {
	for _, p := range n.pairs {
		_, dying := n.first(p.Key)
		taken := slices.ContainsFunc(n.refused, func(f refusal) bool { return f.Name == p.Name() })
		if dying || taken {
			continue // made again when it is dead, with a new id; or its name is not free
		}
		if full := n.full(p.Key); full != "" {
			n.refuse(p.Key, fmt.Sprintf("%s has no relation with %s: %s", p.Requirer, p.Provider.Written(n.Namespace), full))
			continue
		}
		n.lastID++
		r := Relation{Key: p.Key, Interface: p.Interface, Version: p.Version, Declared: true, Name: p.Name()}
		r.State = State{ID: n.lastID, Retain: n.retain(p.Key)}
		r = n.judge(n.consent(r))
		n.declared[len(n.relations)] = true
		n.add(r)
		n.relates = append(n.relates, Relate{Pair: p, State: r.State})
	}
}

// bag is what the bag of an endpoint shall be: what is declared, or where
// nobody declares it any more what it was.
func (n *negotiation) bag(e End) map[string]string {
	if e.Namespace != n.Namespace {
		return n.stored[e].Data
	}
	a := n.apps[e.Application]
	if bag, ok := a.Bags[e.Endpoint]; ok {
		if _, declared := a.Endpoint(e.Endpoint); declared {
			return bag
		}
	}
	return n.stored[e].Data
}

// deliver finishes the commits that a replica began and did not finish.
func deliver(outboxes []string) []Decision {
	var decisions []Decision
	for _, name := range slices.Sorted(slices.Values(outboxes)) {
		decisions = append(decisions, Deliver{name})
	}
	return decisions
}

// bagIn is an application's bag as the other side of a relation sees it: what its
// leader wrote there over what it says to everybody (SAFETY.md V5), and above all the
// reference to what it grants (SAFETY.md S1). As long as no Offer covers the relation
// nothing is seen of another namespace.
func (n *negotiation) bagIn(r Relation, e End) map[string]string {
	if e.Namespace != n.Namespace && !r.Open() {
		return nil
	}
	bag := databag.Overlay(n.bag(e), n.said[speaker{r.UID, e.Namespace, e.Application}])
	if g, granted := n.grantIn(r, e); granted {
		bag = databag.Overlay(bag, g.layer(e))
	}
	return bag
}

// publish stores each bag that differs from what is stored.
func (n *negotiation) publish() []Decision {
	var decisions []Decision
	for _, a := range n.Applications {
		for _, e := range a.Endpoints {
			bag, ok := a.Bags[e.Name]
			before, there := n.stored[End{n.Namespace, a.Name, e.Name}]
			if ok && (!there || !maps.Equal(before.Data, bag)) {
				i, _ := n.Interfaces.Find(e.Interface, e.Version)
				said := Databag{Application: a.Name, Endpoint: e.Name, Data: bag}
				decisions = append(decisions, Publish{said, i.Bag(e.Role, true).Secrets()})
			}
		}
	}
	return decisions
}

// withdraw deletes the bags that nobody declares and no relation needs.
func (n *negotiation) withdraw() []Decision {
	var decisions []Decision
	for _, b := range n.Databags {
		if !n.needed(b) {
			decisions = append(decisions, Withdraw{b})
		}
	}
	return decisions
}

// needed reports whether somebody declares the bag or a relation is about it.
func (n *negotiation) needed(b Databag) bool {
	if b.Relation != "" {
		return n.spoken(b)
	}
	a := n.apps[b.Application]
	if _, declared := a.Endpoint(b.Endpoint); declared && a.Bags[b.Endpoint] != nil {
		return true
	}
	return n.inUse(End{n.Namespace, b.Application, b.Endpoint})
}
