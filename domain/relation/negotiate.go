package relation

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

// How long a relation stays dying (RELATIONS.md L4).
const (
	// hearing is how long the agents of units may take to hear of the end.
	hearing = 10 * time.Second
	// handling is how long their handlers may take to handle it.
	handling = 10 * time.Minute
)

// Negotiate returns what must happen for s to be settled, ordered so that equal
// snapshots always give equal decisions, whatever the order of their lists: ends
// first, then data, applications, relations, and last what nobody needs any
// more. wake is when to look again although nothing changes; zero for never.
//
// In a namespace that is ending nothing can be made any more, and all goes by
// itself: its relations are released and nothing else is done.
func Negotiate(s Snapshot) (decisions []Decision, wake time.Time) {
	n := newNegotiation(s)
	n.resolve()
	n.judgeRelations()
	if s.Ending {
		return n.ends, time.Time{}
	}
	n.relate()
	n.judgeApplications()
	return slices.Concat(n.ends, n.deliver(), n.publish(), n.remember, n.relates, n.updates, n.withdraw(), n.forgets), n.wake
}

// negotiation is one run of Negotiate: what it knows and what it has decided.
type negotiation struct {
	Snapshot
	apps map[string]application.Application
	// services maps the name of a Service to the application it joined.
	services map[string]string
	// relations are those there are, with the state they shall have.
	relations []Relation
	// index lists, for each application, its places in relations; between lists
	// them for each requirer and provider of this namespace.
	index   map[string][]int
	between map[[2]string][]int
	// declared are the places of the relations that a reference declares.
	declared map[int]bool
	// pairs are what is declared and not yet related.
	pairs []Pair
	// providers lists, for each interface, the applications that provide it.
	providers map[string][]application.Application
	// obstacles are why a reference of an application leads nowhere.
	obstacles map[string][]Obstacle
	// leftOut are what declares something and takes no part, by the application
	// that it would be of.
	leftOut map[string][]application.Fault
	// records are those there are, by application; units and nextUnits what they shall
	// say of units.
	records   map[string]Record
	units     map[string][]application.Unit
	nextUnits map[string]int
	// mourned are the units whose departure a relation remembers.
	mourned map[departedFrom]bool
	// lastID is the highest id that is known, recorded the highest that a record
	// holds.
	lastID, recorded int
	// stored are the bags as they are.
	stored map[End]Databag
	// said are the application bags of single relations, by its UID and the
	// application.
	said map[[2]string]map[string]string
	// saidByUnits are the bags of units, by the same.
	saidByUnits map[[2]string][]Databag
	// fits remembers what is wrong with what is said to everybody.
	fits map[spoken][]schema.Violation

	ends, remember, relates, updates, forgets []Decision
	wake                                      time.Time
	// manyEnd is set where so many relations would end now that a person must agree.
	manyEnd bool
}

func newNegotiation(s Snapshot) *negotiation {
	n := &negotiation{
		Snapshot: inOrder(s),
		apps:     map[string]application.Application{}, services: map[string]string{}, providers: map[string][]application.Application{},
		index: map[string][]int{}, between: map[[2]string][]int{}, declared: map[int]bool{}, obstacles: map[string][]Obstacle{},
		leftOut: map[string][]application.Fault{}, said: map[[2]string]map[string]string{},
		units: map[string][]application.Unit{}, nextUnits: map[string]int{}, mourned: map[departedFrom]bool{},
		saidByUnits: map[[2]string][]Databag{}, fits: map[spoken][]schema.Violation{},
	}
	for _, f := range n.Orphans {
		n.leftOut[f.Application] = append(n.leftOut[f.Application], f)
	}
	for i, a := range n.Applications {
		n.Applications[i] = n.withhold(a)
		n.noteApplication(n.Applications[i])
	}
	n.stored = make(map[End]Databag, len(s.Databags))
	for _, b := range n.Databags {
		switch {
		case b.Relation == "":
			n.stored[End{s.Namespace, b.Application, b.Endpoint}] = b
		case b.Unit == "":
			n.said[[2]string{b.Relation, b.Application}] = b.Data
		default:
			n.saidByUnits[[2]string{b.Relation, b.Application}] = append(n.saidByUnits[[2]string{b.Relation, b.Application}], b)
		}
	}
	n.relations = slices.Clone(n.Relations)
	for i, r := range n.relations {
		n.lastID = max(n.lastID, r.State.ID)
		n.note(r.Key, i)
	}
	n.records = make(map[string]Record, len(s.Records))
	for _, r := range s.Records {
		n.records[r.Name] = r
		n.recorded = max(n.recorded, r.State.LastRelation)
	}
	n.lastID = max(n.lastID, n.recorded)
	n.number()
	return n
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
	return s
}

func sorted[T any](all []T, compare func(a, b T) int) []T {
	all = slices.Clone(all)
	slices.SortFunc(all, compare)
	return all
}

// noteApplication puts an application where it is looked for.
func (n *negotiation) noteApplication(a application.Application) {
	n.apps[a.Name] = a
	for _, service := range a.Services {
		n.services[service] = a.Name
	}
	seen := map[string]bool{}
	for _, e := range a.Endpoints {
		if e.Role == application.Provider && !seen[e.Interface] {
			seen[e.Interface] = true
			n.providers[e.Interface] = append(n.providers[e.Interface], a)
		}
	}
}

// note puts the relation at place i into the index of both its applications.
func (n *negotiation) note(k Key, i int) {
	n.index[k.Requirer.Application] = append(n.index[k.Requirer.Application], i)
	if k.Provider.Namespace != n.Namespace {
		return
	}
	both := [2]string{k.Requirer.Application, k.Provider.Application}
	n.between[both] = append(n.between[both], i)
	if both[0] != both[1] {
		n.index[k.Provider.Application] = append(n.index[k.Provider.Application], i)
	}
}

// of yields the relations of an application, oldest first.
func (n *negotiation) of(application string) iter.Seq[Relation] {
	return func(yield func(Relation) bool) {
		for _, i := range n.index[application] {
			if !yield(n.relations[i]) {
				return
			}
		}
	}
}

// related returns the relation between the two ends of k, if there is one.
func (n *negotiation) related(k Key) bool {
	return slices.ContainsFunc(n.between[[2]string{k.Requirer.Application, k.Provider.Application}], func(i int) bool {
		return n.relations[i].Key == k
	})
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
		released := n.teardown(&r)
		n.life(&r, n.declared[i])
		r.State.Departures = n.departures(r)
		for _, d := range r.State.Departures {
			n.mourned[departedFrom{r.UID, d.Unit}] = true
		}
		r.State.Conditions = n.conditions(r)
		r.State.Status = n.status(r)
		if !released {
			n.update(&r, before)
		}
		n.relations[i] = r
	}
}

// update stores what is new of a relation, and ends it if it shall end.
func (n *negotiation) update(r *Relation, before Relation) {
	if r.State.ID == 0 {
		n.lastID++
		r.State.ID = n.lastID
	}
	if !reflect.DeepEqual(r.State, before.State) {
		n.updates = append(n.updates, Update{*r})
	}
	if r.Deleted.IsZero() && r.State.EndReason != "" {
		n.updates = append(n.updates, Finish{*r})
	}
}

// life holds a relation whose declaration has vanished, lets it go on when the
// declaration returns, and ends it when the time is over (SAFETY.md L5).
func (n *negotiation) life(r *Relation, declared bool) {
	switch {
	case !r.Alive() || !r.Declared:
	case declared:
		r.State.HeldSince = time.Time{}
		r.State.Retain = n.retain(r.Key)
	case !r.Held():
		r.State.HeldSince = n.Now
		n.wakeAt(n.Now.Add(r.State.Retain))
	case n.Now.Before(r.State.HeldSince.Add(r.State.Retain)):
		n.wakeAt(r.State.HeldSince.Add(r.State.Retain))
	case !n.manyEnd:
		r.State.EndReason = ReasonDeclarationGone
	}
}

// retain is what the requirer says, or the provider where it says nothing.
func (n *negotiation) retain(k Key) time.Duration {
	for _, name := range []string{k.Requirer.Application, k.Provider.Application} {
		if a, ok := n.apps[name]; ok && a.Retain != application.DefaultRetain {
			return a.Retain
		}
	}
	return application.DefaultRetain
}

func (n *negotiation) wakeAt(t time.Time) {
	if n.wake.IsZero() || t.Before(n.wake) {
		n.wake = t
	}
}

// teardown keeps a deleted relation for its units to hear of, but not for long.
// Without units it is dead at once (RELATIONS.md L1, L4). It is not let go
// before a record holds its id, which must not be given again.
func (n *negotiation) teardown(r *Relation) (released bool) {
	if r.Deleted.IsZero() {
		return false
	}
	r.State.EndReason = cmp.Or(r.State.EndReason, "Deleted")
	if over := n.overAt(*r); !n.Ending && n.Now.Before(over) {
		n.wakeAt(over)
		return false
	}
	if !n.Ending && r.State.ID > n.recorded {
		return false // the record is written now, and wakes us
	}
	n.ends = append(n.ends, Release{*r})
	return true
}

// overAt is when a deleted relation is dead at the latest: at once without units,
// later for agents to hear of the end, and much later for handlers to handle it.
func (n *negotiation) overAt(r Relation) time.Time {
	if len(n.blocking(r)) > 0 {
		return r.Deleted.Add(handling)
	}
	for _, e := range []End{r.Requirer, r.Provider} {
		if slices.ContainsFunc(n.apps[e.Application].Pods, hearsAlone) {
			return r.Deleted.Add(hearing)
		}
	}
	return r.Deleted
}

// hearsAlone reports whether a pod has an agent and no handler.
func hearsAlone(p application.Pod) bool {
	return p.Injected && !application.HearsOfEvents(p.Annotations)
}

// blocking lists the units whose handlers have yet to handle a relation's end.
func (n *negotiation) blocking(r Relation) []string {
	var all []string
	for _, name := range slices.Compact([]string{r.Requirer.Application, r.Provider.Application}) {
		for _, u := range n.records[name].State.Units {
			unit := name + "/" + strconv.Itoa(u.Number)
			if u.Gone == "" && u.Handles && !slices.Contains(r.State.Left, unit) {
				all = append(all, unit)
			}
		}
	}
	return all
}

// relate makes the relations that are declared, within their limits.
func (n *negotiation) relate() {
	for _, p := range n.pairs {
		if n.related(p.Key) {
			continue // dying: made again when it is dead, with a new id
		}
		if full := n.full(p); full != "" {
			ref := application.Reference{Endpoint: p.Requirer.Endpoint, Application: p.Provider.Application, RemoteEndpoint: p.Provider.Endpoint}
			n.obstacles[p.Requirer.Application] = append(n.obstacles[p.Requirer.Application], Obstacle{Reference: ref, Reason: ReasonLimit, Stuck: true, Message: full})
			continue
		}
		n.lastID++
		r := Relation{Key: p.Key, Interface: p.Interface, Version: p.Version, Declared: true, Name: p.Name()}
		r.State = State{ID: n.lastID, Retain: n.retain(p.Key)}
		r.State.Conditions = n.conditions(r)
		r.State.Status = n.status(r)
		n.note(r.Key, len(n.relations))
		n.relations = append(n.relations, r)
		n.relates = append(n.relates, Relate{Pair: p, State: r.State})
	}
}

// full says which end has as many relations as it takes (RELATIONS.md M3).
// Relations that are held do not count: they are leaving.
func (n *negotiation) full(p Pair) string {
	for _, e := range []End{p.Requirer, p.Provider} {
		endpoint, _ := n.apps[e.Application].Endpoint(e.Endpoint)
		if endpoint.Limit == 0 {
			continue
		}
		count := 0
		for r := range n.of(e.Application) {
			if r.Alive() && !r.Held() && (r.Requirer == e || r.Provider == e) {
				count++
			}
		}
		if count >= endpoint.Limit {
			return fmt.Sprintf("endpoint %s takes %d relation(s) and has them; raise its limit, or end one", e, endpoint.Limit)
		}
	}
	return ""
}

// conditions says what a relation's state is, and why.
func (n *negotiation) conditions(r Relation) []condition.Condition {
	_, requirer := n.apps[r.Requirer.Application]
	_, provider := n.apps[r.Provider.Application]
	var cs []condition.Condition
	switch {
	case r.State.EndReason != "":
		cs = condition.Waiting(ReasonEnding, n.ending(r))
	case r.Provider.Namespace != n.Namespace:
		cs = condition.Stuck(ReasonNoOffer, fmt.Sprintf("namespace %s offers no application %s to this namespace", r.Provider.Namespace, r.Provider.Application))
	case !provider:
		cs = condition.Waiting(ReasonProviderGone, fmt.Sprintf("%s is gone: create it again, or end the relation", r.Provider.Application))
	case !requirer:
		cs = condition.Waiting(ReasonRequirerGone, fmt.Sprintf("%s is gone: create it again, or end the relation", r.Requirer.Application))
	case r.Peer():
		cs = condition.Settled(ReasonComplete, fmt.Sprintf("the units of %s are related on %s", r.Requirer.Application, r.Requirer.Endpoint))
	default:
		cs = n.completeness(r)
	}
	return slices.Concat(cs, n.held(r), n.violated(r), n.failingIn(r), sides(r))
}

// ending says what the end of a relation waits for.
func (n *negotiation) ending(r Relation) string {
	text := "the relation has ended and is being taken down"
	if waits := n.blocking(r); len(waits) > 0 && !r.Deleted.IsZero() {
		text += fmt.Sprintf(": the handlers of %s have yet to handle the end since %s, and it goes on without them at %s",
			listed(waits), r.Deleted.UTC().Format(time.RFC3339), r.Deleted.Add(handling).UTC().Format(time.RFC3339))
	}
	return text
}

// bag is what the bag of an endpoint shall be: what is declared, or where
// nobody declares it any more what it was.
func (n *negotiation) bag(e End) map[string]string {
	a := n.apps[e.Application]
	if bag, ok := a.Bags[e.Endpoint]; ok {
		if _, declared := a.Endpoint(e.Endpoint); declared {
			return bag
		}
	}
	return n.stored[e].Data
}

// deliver finishes what a replica began and did not finish.
func (n *negotiation) deliver() []Decision {
	var decisions []Decision
	for _, name := range slices.Sorted(slices.Values(n.Outboxes)) {
		decisions = append(decisions, Deliver{name})
	}
	return decisions
}

// bagIn is an application's bag as the other side of a relation sees it: what its
// leader wrote there over what it says to everybody (SAFETY.md V5).
func (n *negotiation) bagIn(r Relation, e End) map[string]string {
	return databag.Overlay(n.bag(e), n.said[[2]string{r.UID, e.Application}])
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
	e := End{n.Namespace, b.Application, b.Endpoint}
	for r := range n.of(b.Application) {
		if r.Provider == e || r.Requirer == e {
			return true
		}
	}
	return false
}
