package negotiation

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// departedFrom is a unit that has departed from the relation of that UID, or of any if that
// is empty.
type departedFrom struct {
	relation string
	unit     conversation.Unit
}

// mourned returns the units whose departure a relation remembers, and whose bags in it are
// still needed; and those of this namespace whose departure a relation of another one, or one that is suspended, has yet to
// note: an agent that is away knows them for as long as that lasts.
func mourned(u units, known relations) map[departedFrom]bool {
	is := map[departedFrom]bool{}
	mourn := func(r relation.Relation, unit conversation.Unit) {
		is[departedFrom{r.UID, unit}] = true
		is[departedFrom{unit: unit}] = true // from any relation
	}
	for _, r := range slices.Concat(known.consumers, known.all) {
		for _, d := range r.State.Departures {
			if lasts(d, u.Now) {
				mourn(r, d.Unit)
			}
		}
	}
	for _, r := range known.consumers {
		for _, unit := range unnoted(u, r, r.Provider) {
			mourn(r, unit)
		}
	}
	for _, r := range known.all {
		if r.Open() {
			continue // it has noted those that it needs
		}
		for _, unit := range unnoted(u, r, r.Requirer) {
			mourn(r, unit)
		}
	}
	return is
}

// unnoted lists the units of an end here whose departure a relation between namespaces has yet to note.
func unnoted(u units, r relation.Relation, e relation.End) []conversation.Unit {
	var all []conversation.Unit
	for _, gone := range u.numbered[e.Application] {
		if unit := r.Unit(e, gone.Number); r.Opened() && hasLeft(r, gone) && !notes(r.State.Departures, unit) {
			all = append(all, unit)
		}
	}
	return all
}

// remembered returns the units of an application without those that departed over an hour
// ago, whose departure no relation remembers any more and whose transactions are delivered
// (SAFETY.md P2). wake is when the first may go.
func remembered(u units, mourned map[departedFrom]bool, name string) (all []application.Unit, wake time.Time) {
	if u.OptedOut || u.unreadable.remembers(name) {
		return u.numbered[name], wake
	}
	record := u.record(u.here(name, ""))
	all = slices.DeleteFunc(slices.Clone(u.numbered[name]), func(unit application.Unit) bool {
		over := record.Over(unit)
		if unit.Gone != "" && u.committed(name, unit) {
			return false
		}
		if unit.Gone == "" || u.Now.Before(over) {
			if unit.Gone != "" {
				wake = soonest(wake, over)
			}
			return false
		}
		here := conversation.Unit{Application: name, Number: unit.Number}
		abroad := conversation.Unit{Application: name + "." + u.Namespace, Number: unit.Number}
		return !mourned[departedFrom{unit: here}] && !mourned[departedFrom{unit: abroad}]
	})
	return all, wake
}

// committed reports whether a transaction of a unit is not delivered: a later leader delivers it before its own
// (TRUST.md T10).
func (u units) committed(name string, unit application.Unit) bool {
	return slices.ContainsFunc(u.Outboxes, func(o relation.Outbox) bool {
		return o.Holds && o.Application == name && o.Unit == strconv.Itoa(unit.Number)
	})
}

// retained has the bags and outboxes that are needed no more.
type retained struct {
	withdrawn []relation.Databag
	discarded []relation.Outbox
	wake      time.Time
}

// retain lists the bags that nothing declares and no relation needs, and the outboxes that no unit needs.
func retain(u units, known relations) retained {
	b := retention{units: u, relations: known, mourned: mourned(u, known)}
	is := retained{discarded: slices.DeleteFunc(slices.Clone(u.Outboxes), u.commits)}
	for _, bag := range u.Databags {
		needed, wake := b.needed(bag)
		is.wake = soonest(is.wake, wake)
		if !needed {
			is.withdrawn = append(is.withdrawn, bag)
		}
	}
	return is
}

// commits reports whether an outbox is needed: it holds a transaction, or its unit lives, as far as that is known
// (TRUST.md T10). What is empty holds nothing of a unit that is not known.
func (u units) commits(o relation.Outbox) bool {
	return o.Holds || u.unreadable.record(u.here(o.Application, "")) ||
		slices.ContainsFunc(u.numbered[o.Application], func(unit application.Unit) bool {
			return unit.Gone == "" && strconv.Itoa(unit.Number) == o.Unit
		})
}

// retention has what bags are kept for.
type retention struct {
	units     units
	relations relations
	mourned   map[departedFrom]bool
}

// needed reports whether something declares the bag or a relation is about it. wake is
// when that may end.
func (b retention) needed(bag relation.Databag) (needed bool, wake time.Time) {
	if b.units.unreadable.keeps(bag) {
		return true, wake
	}
	if bag.Relation != "" {
		return b.spoken(bag)
	}
	a := b.units.apps[bag.Application]
	if declares(a, bag.Endpoint) && a.Bags[bag.Endpoint] != nil {
		return true, wake
	}
	here := b.units.here(bag.Application, bag.Endpoint)
	if !b.units.record(here).Seen {
		return true, wake // it was restored before what declares it
	}
	ends := func(s relation.Side) bool { return s.Here() == here && s.Teardown != nil }
	return b.relations.inUse(here) || slices.ContainsFunc(b.units.Sides, ends), wake
}

// spoken reports whether a bag of one relation may still be about something. It goes with its side or, without
// one, with its Relation; until then only the bag of a unit that has gone is of no use, once its departure is over
// and an hour has passed. A number that was never given here, and a relation that does not exist, are unknown,
// not gone (SAFETY.md E13, P2, TRUST.md T5).
func (b retention) spoken(bag relation.Databag) (needed bool, wake time.Time) {
	unit := conversation.Unit{Application: bag.Application}
	if bag.Home.Namespace != "" {
		unit.Application += "." + b.units.Namespace
	}
	number, err := strconv.Atoi(bag.Unit)
	unit.Number = number
	if err != nil || number >= b.units.next[bag.Application] || b.mourned[departedFrom{bag.Relation, unit}] {
		return true, wake
	}
	for _, u := range b.units.numbered[bag.Application] {
		if u.Number != number {
			continue
		}
		over := b.units.record(b.units.here(bag.Application, "")).Over(u)
		if u.Gone != "" && b.units.Now.Before(over) {
			wake = over
		}
		return u.Gone == "" || b.units.Now.Before(over), wake
	}
	return false, wake
}

// named returns the applications to record: those that are related or try to be, those that would be if they could,
// those that a relation or a side names, and those whose units have made secrets.
func (s standings) named() map[string]bool {
	names := map[string]bool{}
	for _, a := range s.Applications {
		if a.TakesPart() || len(a.Faults) > 0 {
			names[a.Name] = true
		}
	}
	for name := range s.ignored {
		names[name] = true
	}
	for _, r := range s.relations.all {
		for _, e := range []relation.End{r.Requirer, r.Provider} {
			if e.Namespace == s.Namespace {
				names[e.Application] = true
			}
		}
	}
	for _, one := range s.sides {
		names[one.Here().Application] = true
	}
	maps.Copy(names, owning(s.SecretOwners, s.Records))
	maps.Copy(names, s.unreadable.pairs.applications(s.Namespace))
	for _, r := range s.Consumers {
		if r.Opened() { // otherwise any namespace could have records made here
			names[r.Provider.Application] = true
		}
	}
	return names
}

// owning returns the recorded applications whose units have made secrets: forgotten, they would give the number of such a
// unit, and its secrets with it, to another pod.
func owning(owners []secret.Owner, records []relation.Record) map[string]bool {
	names := map[string]bool{}
	for _, o := range owners {
		names[o.Application] = names[o.Application] || o.Unit != ""
	}
	recorded := map[string]bool{}
	for _, r := range records {
		recorded[r.Name] = true
	}
	maps.DeleteFunc(names, func(name string, units bool) bool { return !units || !recorded[name] })
	return names
}

// shelves hold the bags of a namespace, which go with the sides of their relations.
type shelves struct {
	namespace string
	bags      []relation.Databag
	sides     sides
}

// of lists the bags of an end in one relation.
func (s shelves) of(identity string, e relation.End) []relation.Databag {
	var all []relation.Databag
	for _, b := range s.bags {
		if b.Relation == identity && b.Application == e.Application && b.Endpoint == e.Endpoint {
			all = append(all, b)
		}
	}
	return all
}

// without lists the bags of a relation whose end has no side: they go with the Relation.
func (s shelves) without(r relation.Relation) []relation.Databag {
	var all []relation.Databag
	for _, e := range r.Ends() {
		if _, kept := s.sides.of(r, e); e.Namespace == s.namespace && !kept {
			all = append(all, s.of(r.UID, e)...)
		}
	}
	return all
}
