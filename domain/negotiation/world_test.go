package negotiation_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/negotiation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

const namespace = "shop"

// epoch is when every world begins.
func epoch() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// world is a namespace in memory that behaves as a cluster does: it gives UIDs,
// stores an object and its status by two writes, keeps what has a finalizer, and
// turns what is empty into what is absent. It proves on the way what must hold
// of every decision.
type world struct {
	// name and namespaceUID are the namespace's, and elsewhere has the UIDs of others that are not uidOf.
	name            string
	namespaceUID    string
	elsewhere       map[string]string
	now             time.Time
	optedIn, ending bool
	services        map[string]application.Service
	workloads       map[string]application.Workload
	pods, strays    map[string]application.Pod
	relations       map[string]kept
	sides           map[string]relation.Side
	records         map[string]relation.Record
	databags        map[string]bag
	outboxes        map[string]relation.Outbox
	offers          map[string]relation.Offer
	consumers       []relation.Relation
	abroad          []relation.Abroad
	secrets         map[string]secret.Source
	secretOwners    []secret.Owner
	copies          map[string]relation.StoredCopy
	interfaces      schema.Catalog
	schema          schema.Mode
	// rollouts counts the changes of a workload's template.
	rollouts map[string]int
	// published counts the writes of each bag.
	published map[string]int
	// owners maps each id ever given to the UID of its relation.
	owners map[int]string
	uids   int
	// lastRelation is the highest id that was counted.
	lastRelation int
}

// kept is a Relation, and whether it has our finalizer.
type kept struct {
	relation.Relation
	finalizer bool
}

// bag is a Databag, and whether its state was written.
type bag struct {
	relation.Databag
	written bool
}

func newWorld() *world {
	return &world{
		name: namespace, namespaceUID: uidOf(namespace), now: epoch(), optedIn: true,
		services: map[string]application.Service{}, workloads: map[string]application.Workload{}, pods: map[string]application.Pod{},
		relations: map[string]kept{}, sides: map[string]relation.Side{}, records: map[string]relation.Record{}, databags: map[string]bag{}, offers: map[string]relation.Offer{},
		secrets: map[string]secret.Source{}, outboxes: map[string]relation.Outbox{}, copies: map[string]relation.StoredCopy{}, rollouts: map[string]int{}, published: map[string]int{}, owners: map[int]string{},
	}
}

// clone returns a world that goes its own way. Maps inside objects are shared:
// nothing changes them in place.
func (w *world) clone() *world {
	c := *w
	c.services, c.workloads, c.pods = maps.Clone(w.services), maps.Clone(w.workloads), maps.Clone(w.pods)
	c.relations, c.records, c.databags = maps.Clone(w.relations), maps.Clone(w.records), maps.Clone(w.databags)
	c.sides, c.outboxes = maps.Clone(w.sides), maps.Clone(w.outboxes)
	c.offers, c.secrets, c.copies = maps.Clone(w.offers), maps.Clone(w.secrets), maps.Clone(w.copies)
	c.rollouts, c.published = maps.Clone(w.rollouts), maps.Clone(w.published)
	c.owners = maps.Clone(w.owners)
	return &c
}

func (w *world) inventory() application.Inventory {
	return application.Inventory{Namespace: w.name, Services: values(w.services), Workloads: values(w.workloads), Pods: values(w.pods)}
}

// observe returns what the controller sees.
func (w *world) observe() relation.Snapshot {
	s := relation.Snapshot{
		Namespace: w.name, UID: w.namespaceUID, Namespaces: w.namespaces(), Now: w.now, Ending: w.ending, OptedOut: !w.optedIn, LastRelation: w.lastRelation, Seed: strconv.Itoa(w.uids),
		Sides: values(w.sides), Records: values(w.records), Outboxes: values(w.outboxes),
		Interfaces: w.interfaces, Schema: w.schema, Offers: values(w.offers), Consumers: w.consumers, Abroad: w.abroad,
		Secrets: values(w.secrets), SecretOwners: w.secretOwners, Copies: values(w.copies), Account: "orcon-system:relations-controller",
	}
	if w.optedIn {
		s.Applications, s.Orphans = application.Gather(w.inventory())
		in := w.inventory()
		in.Strays = values(w.strays)
		s.Ended, s.Strays = relation.Ended(in.Pods), relation.Strays(in, s.Applications)
	}
	for _, r := range values(w.relations) {
		s.Relations = append(s.Relations, r.Relation)
	}
	for _, b := range values(w.databags) {
		if b.written {
			s.Databags = append(s.Databags, b.Databag)
		}
	}
	return s
}

// writes returns the writes to the API that a decision takes.
func (w *world) writes(decision relation.Decision) []func() {
	if w.waits(decision) {
		return nil
	}
	switch d := decision.(type) {
	case relation.Publish:
		name := relation.DatabagName(d.Application, d.Endpoint)
		return []func(){
			func() { w.create(name, relation.Databag{Application: d.Application, Endpoint: d.Endpoint}) },
			func() { w.databags[name] = bag{stored(d.Databag), true}; w.published[name]++ },
		}
	case relation.Remember:
		return w.remember(d)
	case relation.Keep:
		return []func(){func() {
			if d.ID <= w.lastRelation {
				w.sides[d.Name()] = stored(d.Side)
			}
		}}
	case relation.Drop:
		return []func(){func() { w.withdraw(d.Bags) }, func() { delete(w.sides, d.Name()) }}
	case relation.Relate:
		return []func(){func() { w.relate(d.Pair, d.Identity, true, d.State.ID) }, func() { w.setState(d.Name(), d.State) }}
	case relation.Count:
		return []func(){func() { w.lastRelation = d.LastRelation }}
	case relation.Update:
		return w.update(d.Relation)
	case relation.Finish:
		return []func(){func() {
			if r := w.relations[d.Name]; r.Object == d.Object {
				w.remove(d.Name, r.UID)
			}
		}}
	case relation.Release:
		return []func(){func() { w.withdraw(d.Bags) }, func() {
			if r, ok := w.relations[d.Name]; ok && r.Object == d.Object && !r.Deleted.IsZero() {
				delete(w.relations, d.Name)
			}
		}}
	case relation.Deliver:
		return []func(){func() { w.post(d.Application, d.Unit, false) }}
	case relation.Discard:
		return []func(){func() { delete(w.outboxes, d.Name()) }}
	case relation.Admit:
		return []func(){func() { w.offers[d.Name] = stored(d.Offer) }}
	case relation.Answer:
		return []func(){func() { w.offers[d.Name] = stored(d.Offer) }}
	case relation.Withdraw:
		return []func(){func() { w.withdraw([]relation.Databag{d.Databag}) }}
	case relation.Forget:
		return []func(){func() {
			if w.records[d.Name].UID == d.UID {
				delete(w.records, d.Name)
			}
		}}
	case relation.Copy:
		return []func(){func() { w.copy(d) }}
	case relation.Mark: // nothing is unreadable here
		return nil
	default:
		panic(fmt.Sprintf("the world does not know %T", decision))
	}
}

func (w *world) withdraw(bags []relation.Databag) {
	for _, b := range bags {
		delete(w.databags, b.Name())
	}
}

func (w *world) create(name string, d relation.Databag) {
	if _, there := w.databags[name]; !there {
		w.databags[name] = bag{d, false}
	}
}

func (w *world) remember(d relation.Remember) []func() {
	var all []func()
	if d.Rollout != nil {
		for _, workload := range d.Rollout.Workloads {
			all = append(all, func() { w.rollOut(workload, d.Rollout.Version) })
		}
	}
	return append(all,
		func() {
			if _, there := w.records[d.Name]; !there {
				w.records[d.Name] = relation.Record{Name: d.Name, UID: w.uid()}
			}
		},
		func() {
			r := w.records[d.Name]
			r.State, r.Seen, r.Copied = stored(d.State), true, d.Copied
			w.records[d.Name] = r
		})
}

// run carries decisions out, killed after so many writes.
func (w *world) run(decisions []relation.Decision, most int) {
	for _, d := range decisions {
		for _, write := range w.writes(d) {
			if most == 0 {
				return
			}
			most--
			write()
		}
	}
}

const all = 1 << 30

// settle negotiates until there is nothing left to do, which must be soon, and
// returns when to look again.
func (w *world) settle(t require.TestingT) time.Time {
	before := maps.Clone(w.published)
	for range 5 {
		decisions, wake := w.negotiate(t)
		if len(decisions) == 0 {
			w.checkSettled(t, before, wake)
			return wake
		}
		w.run(decisions, all)
		w.check(t)
	}
	decisions, _ := w.negotiate(t)
	require.Empty(t, decisions, "the fifth look at a world that nobody changes must find it settled")
	return time.Time{}
}

// negotiate decides, and proves what must hold of every decision.
func (w *world) negotiate(t require.TestingT) ([]relation.Decision, time.Time) {
	s := w.observe()
	decisions, wake := negotiation.Negotiate(s)
	released := map[string]bool{}
	for _, decision := range decisions {
		switch d := decision.(type) {
		case relation.Copy:
			w.checkCopy(t, d)
		case relation.Update:
			assert.False(t, released[d.Name], "what is let go is not written any more")
		case relation.Finish:
			before := w.relations[d.Name]
			fresh := before.Alive() && !w.succeeded(before.Relation)
			assert.False(t, fresh && declares(s, d.Key, d.Interface), "what is declared is never ended (SAFETY.md L5): %s", d.Name)
			assert.False(t, fresh && !before.Declared, "what a person made is ended by a person")
			if fresh {
				require.True(t, before.Held(), "nothing ends that was not held")
				assert.False(t, w.now.Before(before.State.HeldSince.Add(before.State.Retain)), "nothing ends before its time")
			}
		case relation.Release:
			released[d.Name] = true
			assert.False(t, w.relations[d.Name].Deleted.IsZero(), "only what is deleted is let go")
		case relation.Publish:
			old, there := w.databags[relation.DatabagName(d.Application, d.Endpoint)]
			assert.False(t, there && old.written && maps.Equal(old.Data, d.Data), "what is stored is not written again (SAFETY.md D12, RELATIONS.md P3)")
		case relation.Remember:
			w.checkForgotten(t, d, decisions)
		case relation.Count:
			assert.Greater(t, d.LastRelation, w.lastRelation, "the count only grows")
		case relation.Discard:
			assert.False(t, d.Holds, "what is not delivered is not deleted (TRUST.md T10)")
		case relation.Keep, relation.Drop, relation.Relate, relation.Deliver, relation.Admit, relation.Answer, relation.Withdraw, relation.Forget, relation.Mark:
		}
	}
	return decisions, wake
}

// succeeded reports whether another Relation has taken over, so that no end comes of a relation's deletion.
func (w *world) succeeded(r relation.Relation) bool {
	return slices.ContainsFunc(values(w.relations), func(other kept) bool {
		return other.Name != r.Name && other.UID == r.UID && other.State.ID > 0 && other.Alive()
	})
}

// checkForgotten proves that no unit is forgotten before its departure is over in every
// relation and an hour has passed.
func (w *world) checkForgotten(t require.TestingT, d relation.Remember, decisions []relation.Decision) {
	after := maps.Clone(w.relations)
	for _, decision := range decisions {
		if u, ok := decision.(relation.Update); ok {
			after[u.Name] = kept{Relation: u.Relation}
		}
	}
	gone := 0
	for _, u := range d.State.Units {
		if u.Gone != "" {
			gone++
		}
	}
	for _, u := range w.records[d.Name].State.Units {
		if gone == 64 { // the most that are kept
			break
		}
		if u.Gone == "" || slices.ContainsFunc(d.State.Units, func(v application.Unit) bool { return u.Number == v.Number }) {
			continue
		}
		for _, r := range after {
			for _, departure := range r.State.Departures {
				mourns := departure.OverSince.IsZero() || w.now.Before(departure.OverSince.Add(application.Mourning))
				is := departure.Unit.Application == d.Name && departure.Unit.Number == u.Number
				assert.False(t, is && mourns, "%s still mourns %s/%d", r.Name, d.Name, u.Number)
			}
		}
		assert.False(t, w.now.Before(u.GoneSince.Add(application.Mourning)), "%s/%d is forgotten too early", d.Name, u.Number)
	}
}

// declares reports, as the rules put it, whether an application declares a relation by an interface.
func declares(s relation.Snapshot, k relation.Key, by string) bool {
	named := map[string]application.Application{}
	for _, a := range s.Applications {
		for _, service := range a.Services {
			named[service] = a
		}
	}
	for _, a := range s.Applications {
		named[a.Name] = a
	}
	says := func(mine, theirs relation.End) bool {
		for _, ref := range named[mine.Application].Relations {
			if named[mine.Application].Name == mine.Application && named[ref.Application].Name == theirs.Application &&
				(ref.Namespace == "" || ref.Namespace == s.Namespace) && mine.Namespace == s.Namespace && theirs.Namespace == s.Namespace &&
				(ref.Endpoint == "" || ref.Endpoint == mine.Endpoint) && (ref.RemoteEndpoint == "" || ref.RemoteEndpoint == theirs.Endpoint) {
				return true
			}
		}
		return false
	}
	r, requires := named[k.Requirer.Application].Endpoint(k.Requirer.Endpoint)
	p, provides := named[k.Provider.Application].Endpoint(k.Provider.Endpoint)
	fits := requires && provides && r.Role == application.Requirer && p.Role == application.Provider && r.Interface == by && p.Interface == by
	return fits && (says(k.Requirer, k.Provider) || says(k.Provider, k.Requirer))
}

// check proves what must hold of the world at any time.
func (w *world) check(t require.TestingT) {
	for _, r := range w.relations {
		w.checkCopied(t, r.Relation)
		if r.State.ID != 0 {
			assert.Equal(t, w.owners[r.State.ID], r.UID, "an id is never given twice (SAFETY.md D10): %d", r.State.ID)
		}
		assert.LessOrEqual(t, len(r.State.Departures), 64, "what is remembered of the departed is bounded (SAFETY.md P2)")
	}
	for _, record := range w.records {
		numbers := map[int]bool{}
		gone := 0
		for _, u := range record.State.Units {
			assert.False(t, numbers[u.Number], "two units of %s have the number %d", record.Name, u.Number)
			assert.Less(t, u.Number, record.State.NextUnit)
			numbers[u.Number] = true
			if u.Gone != "" {
				gone++
			}
		}
		assert.LessOrEqual(t, gone, 64, "what is remembered of the gone is bounded (SAFETY.md P2)")
		types := map[string]bool{}
		for _, c := range record.State.Conditions {
			assert.False(t, types[string(c.Type)], "condition %s is there twice", c.Type)
			assert.NotEmpty(t, c.Reason)
			assert.LessOrEqual(t, len(c.Message), 32768, "the API refuses longer messages")
			types[string(c.Type)] = true
		}
	}
}

// checkSettled proves what must hold when there is nothing left to do.
func (w *world) checkSettled(t require.TestingT, published map[string]int, wake time.Time) {
	for name, n := range w.published {
		assert.LessOrEqual(t, n-published[name], 1, "one change is one write of a bag, however many look at it (SAFETY.md D12)")
	}
	if wake.IsZero() {
		return
	}
	assert.True(t, wake.After(w.now), "to look again at once would be a loop")
	early := w.clone()
	early.now = wake.Add(-time.Second)
	decisions, _ := early.negotiate(t)
	assert.Empty(t, decisions, "nothing happens before the time that was named")
}

// with returns a copy of m with one more pair.
func with(m map[string]string, key, value string) map[string]string {
	m = maps.Clone(m)
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// stored returns v as the API gives it back: a copy in which what is empty is
// absent, and times are whole seconds.
func stored[T any](v T) T {
	out := reflect.New(reflect.TypeFor[T]()).Elem()
	store(reflect.ValueOf(v), out)
	return out.Interface().(T)
}

func store(from, to reflect.Value) {
	switch {
	case from.Type() == reflect.TypeFor[time.Time]():
		to.Set(reflect.ValueOf(from.Interface().(time.Time).UTC().Truncate(time.Second)))
	case from.Kind() == reflect.Struct:
		for i := range from.NumField() {
			store(from.Field(i), to.Field(i))
		}
	case from.Kind() == reflect.Slice && from.Len() > 0:
		to.Set(reflect.MakeSlice(from.Type(), from.Len(), from.Len()))
		for i := range from.Len() {
			store(from.Index(i), to.Index(i))
		}
	case from.Kind() == reflect.Map && from.Len() > 0:
		to.Set(reflect.MakeMap(from.Type()))
		for _, k := range from.MapKeys() {
			to.SetMapIndex(k, from.MapIndex(k))
		}
	case from.Kind() != reflect.Slice && from.Kind() != reflect.Map:
		to.Set(from)
	}
}
