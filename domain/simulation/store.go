package simulation

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/history"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

// namespace is where a scenario happens.
const namespace = "sim"

// store is a cluster's memory of the namespace. It behaves as the API does where that matters: it gives UIDs and
// revisions, stores an object and its status by two writes, and keeps a deleted relation until it is released.
type store struct {
	now      time.Time
	optedIn  bool
	revision int
	uids     int
	// lastRelation is the highest relation id that was counted.
	lastRelation int

	services  map[string]application.Service
	workloads map[string]application.Workload
	pods      map[string]application.Pod

	relations map[string]kept
	sides     map[string]relation.Side
	records   map[string]relation.Record
	leaders   map[string]leadership.Leader
	databags  map[string]bag
	outboxes  map[string]transaction.Commit
	abroad    map[relation.End]foreign
	rollouts  map[string]int
	copies    map[string]relation.StoredCopy
}

// kept is a relation, and whether it stays until it is released.
type kept struct {
	relation.Relation
	finalizer bool
}

// bag is a databag with the term of its last leader, its last writer, and the record of its changes.
type bag struct {
	relation.Databag
	term   int
	writer string
	record history.Log
}

// epoch is when every scenario begins.
func epoch() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

func newStore() *store {
	return &store{
		now: epoch(), optedIn: true,
		services: map[string]application.Service{}, workloads: map[string]application.Workload{}, pods: map[string]application.Pod{},
		relations: map[string]kept{}, sides: map[string]relation.Side{}, records: map[string]relation.Record{},
		leaders:  map[string]leadership.Leader{},
		databags: map[string]bag{}, outboxes: map[string]transaction.Commit{}, abroad: map[relation.End]foreign{}, rollouts: map[string]int{},
		copies: map[string]relation.StoredCopy{},
	}
}

func (s *store) uid(kind string) string {
	s.uids++
	return kind + "-" + strconv.Itoa(s.uids)
}

func values[V any](m map[string]V) []V {
	all := make([]V, 0, len(m))
	for _, k := range sortedKeys(m) {
		all = append(all, m[k])
	}
	return all
}

// observe returns the controller's view.
func (s *store) observe() relation.Snapshot {
	seen := relation.Snapshot{Namespace: namespace, UID: uidOf(namespace), Now: s.now.Truncate(time.Second), OptedOut: !s.optedIn,
		LastRelation: s.lastRelation, Seed: strconv.Itoa(s.revision),
		Records: values(s.records), Sides: values(s.sides), Outboxes: pending(s.outboxes), Copies: values(s.copies)}
	if s.optedIn {
		in := application.Inventory{Namespace: namespace, Services: values(s.services), Workloads: values(s.workloads), Pods: values(s.pods)}
		seen.Applications, seen.Orphans = application.Gather(in)
		seen.Strays, seen.Ended = relation.Strays(in, seen.Applications), relation.Ended(in.Pods)
	}
	seen.Abroad, seen.Secrets = s.observeAbroad(), consenting(seen.Applications)
	for _, r := range values(s.relations) {
		seen.Relations = append(seen.Relations, r.Relation)
	}
	for _, b := range values(s.databags) {
		seen.Databags = append(seen.Databags, b.Databag)
	}
	return seen
}

// pending lists the outboxes: an empty one is not stored.
func pending(outboxes map[string]transaction.Commit) []relation.Outbox {
	var all []relation.Outbox
	for _, c := range values(outboxes) {
		all = append(all, relation.Outbox{Application: c.Application, Unit: strconv.Itoa(c.Unit), Holds: true})
	}
	return all
}

// consenting are the Secrets that applications grant: a simulation has none, so each
// that is named is there and consents.
func consenting(applications []application.Application) []secret.Source {
	var all []secret.Source
	for _, a := range applications {
		for endpoint, name := range a.Secrets {
			all = append(all, secret.Source{Namespace: namespace, Name: name, Sight: secret.Open, GrantTo: endpoint, Version: "1"})
		}
	}
	return all
}

// writes are the writes to the API that a decision takes.
func (s *store) writes(decision relation.Decision) []func() {
	switch d := decision.(type) {
	case relation.Count:
		return []func(){func() { s.lastRelation = max(s.lastRelation, d.LastRelation) }}
	case relation.Publish:
		return []func(){func() { s.publish(d) }}
	case relation.Remember:
		return s.remember(d)
	case relation.Keep:
		return []func(){func() { s.sides[d.Name()] = d.Side }}
	case relation.Drop:
		return []func(){func() { dropBags(s.databags, d.Bags) }, func() { delete(s.sides, d.Name()) }}
	case relation.Relate:
		return []func(){func() { s.makeRelation(d.Pair, d.Identity, true, d.State.ID) }, func() { s.setState(d.Name(), d.State) }}
	case relation.Update:
		return []func(){func() { s.update(d.Relation) }}
	case relation.Finish:
		return []func(){func() { s.remove(d.Name, d.UID) }}
	case relation.Release:
		return []func(){func() { dropBags(s.databags, d.Bags) }, func() { s.release(d.Relation) }}
	case relation.Deliver:
		return []func(){func() { s.deliver(d.Name()) }}
	case relation.Withdraw:
		return []func(){func() { delete(s.databags, d.Name()) }}
	case relation.Forget:
		return []func(){func() { s.forget(d.Record) }}
	case relation.Copy:
		return []func(){func() {
			if delete(s.copies, d.Application); !d.Next.Empty() {
				s.copies[d.Application] = relation.StoredCopy{Application: d.Application, Stored: true, Copy: d.Next}
			}
		}}
	case relation.Admit, relation.Answer, relation.Mark, relation.Discard:
		// a scenario offers nothing to others, can be read, and has no empty outboxes
	}
	return nil
}

// publish writes the data of an application for all relations.
func (s *store) publish(d relation.Publish) {
	b := s.databags[d.Name()]
	e := history.Entry{Time: s.now, Who: history.Controller, Cause: history.Declared, Address: d.Address()}
	b.record = b.record.Append(e, b.Data, d.Data, d.Secret)
	b.Databag = d.Databag
	s.databags[d.Name()] = b
}

func (s *store) remember(d relation.Remember) []func() {
	var all []func()
	if d.Rollout != nil {
		for _, w := range d.Rollout.Workloads {
			all = append(all, func() { s.rollOut(w, d.Rollout.Version) })
		}
	}
	return append(all,
		func() {
			if _, there := s.records[d.Name]; !there {
				s.records[d.Name] = relation.Record{Name: d.Name, UID: s.uid("application")}
			}
		},
		func() {
			r := s.records[d.Name]
			r.State, r.Seen, r.Copied = d.State, true, d.Copied
			s.records[d.Name] = r
		})
}

// rollOut changes the template of a workload; the same version changes nothing.
func (s *store) rollOut(w application.Workload, version string) {
	key := workloadKey(w.Kind, w.Name)
	now, there := s.workloads[key]
	if !there || now.TemplateAnnotations[application.KeyDataVersion] == version {
		return
	}
	now.TemplateAnnotations = with(now.TemplateAnnotations, application.KeyDataVersion, version)
	s.workloads[key] = now
	s.rollouts[w.Name]++
}

func with(m map[string]string, key, value string) map[string]string {
	m = maps.Clone(m)
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// makeRelation makes a relation's object, with its id and without the rest of its state.
func (s *store) makeRelation(p relation.Pair, identity string, declared bool, id int) {
	if _, there := s.relations[p.Name()]; there {
		return
	}
	s.uids++ // the UID of the object
	s.relations[p.Name()] = kept{relation.Relation{
		Key: p.Key, Name: p.Name(), UID: identity, Interface: p.Interface, Version: p.Version, Declared: declared,
		Created: s.now.Truncate(time.Second),
		State:   relation.State{ID: id},
	}, declared}
}

func (s *store) setState(name string, state relation.State) {
	r := s.relations[name]
	r.State = state
	s.relations[name] = r
}

func (s *store) update(d relation.Relation) {
	r, there := s.relations[d.Name]
	if !there || r.UID != d.UID {
		return
	}
	r.finalizer = r.finalizer || r.Deleted.IsZero()
	s.relations[d.Name] = r
	s.setState(d.Name, d.State)
}

// remove asks for a relation's deletion.
func (s *store) remove(name, uid string) {
	r, there := s.relations[name]
	switch {
	case !there || r.UID != uid:
	case !r.finalizer:
		s.collect(r.Relation)
	case r.Deleted.IsZero():
		r.Deleted = s.now.Truncate(time.Second)
		s.relations[name] = r
	}
}

func (s *store) release(d relation.Relation) {
	if r, there := s.relations[d.Name]; there && r.UID == d.UID && !r.Deleted.IsZero() {
		s.collect(r.Relation)
	}
}

func (s *store) collect(r relation.Relation) { delete(s.relations, r.Name) }

func dropBags(from map[string]bag, bags []relation.Databag) {
	for _, b := range bags {
		delete(from, b.Name())
	}
}

func (s *store) forget(d relation.Record) {
	if s.records[d.Name].UID == d.UID {
		delete(s.records, d.Name)
		delete(s.leaders, d.Name)
	}
}

// byID returns the relation that people call so.
func (s *store) byID(id int) (relation.Relation, bool) {
	for _, r := range values(s.relations) {
		if r.State.ID == id {
			return r.Relation, true
		}
	}
	return relation.Relation{}, false
}

// byUID returns a relation by its identity.
func (s *store) byUID(uid string) (relation.Relation, bool) {
	for _, r := range s.relations {
		if r.UID == uid {
			return r.Relation, true
		}
	}
	return relation.Relation{}, false
}

// view returns what an application may see, with each transaction whole from its commit point on (TRUST.md T10).
func (s *store) view(name string) relation.View {
	record, there := s.records[name]
	if !there {
		record.Name = name
	}
	var relations []relation.Relation
	for _, r := range values(s.relations) {
		relations = append(relations, r.Relation)
	}
	shown := *s
	shown.databags = laid(s.databags, values(s.outboxes))
	v := relation.Look(namespace, record, relations, values(s.sides), relation.Shelf{
		Bag: shown.bagOf, Writer: shown.writerOf, Said: shown.saidBy, Units: s.unitsOf, Grants: s.grantsOf,
	})
	v.Leader = s.leaders[name]
	return v
}

// laid returns the databags with what is committed laid over them.
func laid(databags map[string]bag, commits []transaction.Commit) map[string]bag {
	all := maps.Clone(databags)
	slices.SortStableFunc(commits, func(a, b transaction.Commit) int { return cmp.Compare(a.Term, b.Term) })
	for _, c := range commits {
		var stored transaction.Stored
		for _, change := range c.Changes {
			b := c.Bag(change)
			stored.SetBag(b.Name(), transaction.StoredBag{Data: all[b.Name()].Data, Term: all[b.Name()].term})
		}
		for name, b := range transaction.Laid(stored, c) {
			shown := all[name]
			shown.Data, shown.writer = b.Data, cmp.Or(b.Writer, shown.writer)
			all[name] = shown
		}
	}
	return all
}

func (s *store) bagOf(r relation.Relation, e relation.End) map[string]string {
	if e.Namespace != namespace {
		return hostOf(e)
	}
	everybody := s.databags[relation.DatabagName(e.Application, e.Endpoint)].Data
	here := relation.Databag{Application: e.Application, Endpoint: e.Endpoint, Relation: r.UID}
	return databag.Overlay(everybody, s.databags[here.Name()].Data)
}

// writerOf returns the last writer of an application's data in a relation; empty if it publishes data for all
// relations, which may be newer.
func (s *store) writerOf(r relation.Relation, e relation.End) string {
	if len(s.databags[relation.DatabagName(e.Application, e.Endpoint)].Data) > 0 {
		return ""
	}
	return s.databags[relation.Databag{Application: e.Application, Endpoint: e.Endpoint, Relation: r.UID}.Name()].writer
}

// saidBy returns a unit's data; there are no units of other namespaces.
func (s *store) saidBy(r relation.Relation, e relation.End, unit int) map[string]string {
	b := relation.Databag{Application: e.Application, Endpoint: e.Endpoint, Relation: r.UID, Unit: strconv.Itoa(unit)}
	return s.databags[b.Name()].Data
}

func (s *store) unitsOf(e relation.End) []application.Unit {
	if e.Namespace != namespace {
		return nil
	}
	return s.records[e.Application].State.Units
}

func (s *store) grantsOf(e relation.End) []relation.Grant {
	if e.Namespace != namespace {
		return nil
	}
	return s.records[e.Application].State.Grants
}
