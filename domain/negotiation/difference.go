package negotiation

import (
	"maps"
	"reflect"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// settlement has what the stages have found.
type settlement struct {
	// succeeded are the relations whose identity another one has taken over.
	succeeded []relation.Relation
	matching  matching
	lives     lives
	limited   limited
	judged    judged
	shelves   shelves
	upkeep    upkeep
	copies    copies
	recorded  recorded
	offers    []relation.OfferState
	retained  retained
}

// difference returns what must be done for the facts to be as settled. It alone makes
// decisions.
func difference(f *facts, s settlement) []relation.Decision {
	remembered, forgotten := s.records(f.Records, f.Databags)
	changed, made := s.copies.decisions()
	return slices.Concat(changed, s.releases(), s.counts(f.LastRelation), deliveries(f.Outboxes), publications(f), s.keeps(f.sides),
		remembered, s.relates(), s.updates(f.unreadable), s.duplicates(f.unreadable), offers{f}.admissions(),
		s.answers(f.Offers),
		s.withdrawals(), s.drops(), forgotten, f.unreadable.marks(), made)
}

// releases lets go of the relations that are dead, of those whose identity another one has, and of the refused that are
// deleted: no unit knows those.
func (s settlement) releases() []relation.Decision {
	var decisions []relation.Decision
	for _, i := range slices.Sorted(maps.Keys(s.lives.released)) {
		r := s.lives.released[i]
		decisions = append(decisions, relation.Release{Relation: r, Bags: s.shelves.without(r)})
	}
	for _, r := range s.succeeded {
		switch {
		case !r.Deleted.IsZero():
			decisions = append(decisions, relation.Release{Relation: r})
		case r.State.HeldReason == relation.ReasonDeclarationGone:
			decisions = append(decisions, relation.Finish{Relation: r})
		}
	}
	for _, r := range s.matching.refused {
		if !r.Deleted.IsZero() {
			decisions = append(decisions, relation.Release{Relation: r.Relation})
		}
	}
	return decisions
}

// counts stores the highest id, which relates and updates give.
func (s settlement) counts(before int) []relation.Decision {
	last := max(s.lives.lastID, s.upkeep.lastID)
	for _, r := range s.judged.relations.all {
		last = max(last, r.State.ID)
	}
	if last == before {
		return nil
	}
	return []relation.Decision{relation.Count{LastRelation: last}}
}

// keeps stores the sides that are new or differ.
func (s settlement) keeps(stored sides) []relation.Decision {
	var decisions []relation.Decision
	for _, side := range s.upkeep.kept(stored) {
		decisions = append(decisions, relation.Keep{Side: side})
	}
	return decisions
}

// drops deletes the sides that owe nothing more.
func (s settlement) drops() []relation.Decision {
	var decisions []relation.Decision
	for _, side := range s.upkeep.dropped {
		decisions = append(decisions, relation.Drop{Side: side, Bags: s.shelves.of(side.Relation, side.Here())})
	}
	return decisions
}

// ends stores the end of the relations that are being deleted, as far as it is new, and nothing else.
func (s settlement) ends() []relation.Decision {
	var decisions []relation.Decision
	for i, r := range s.matching.relations.all {
		_, released := s.lives.released[i]
		if end := s.lives.relations.all[i].State.EndReason; !released && !r.Deleted.IsZero() && r.State.EndReason != end {
			r.State.EndReason, r.State.EndedSince = end, s.lives.relations.all[i].State.EndedSince
			decisions = append(decisions, relation.Update{Relation: r})
		}
	}
	return decisions
}

// deliveries finishes the commits that a replica began and did not finish.
func deliveries(outboxes []relation.Outbox) []relation.Decision {
	var decisions []relation.Decision
	for _, o := range outboxes {
		if o.Holds {
			decisions = append(decisions, relation.Deliver{Outbox: o})
		}
	}
	return decisions
}

// publications stores each bag that differs from what is stored.
func publications(f *facts) []relation.Decision {
	var decisions []relation.Decision
	for _, a := range f.Applications {
		for _, e := range a.Endpoints {
			bag, ok := a.Bags[e.Name]
			before, there := f.stored[f.here(a.Name, e.Name)]
			said := relation.Databag{Application: a.Name, Endpoint: e.Name, Data: bag}
			if _, unknown := f.unreadable.databag(f.Namespace, said); !unknown && ok && (!there || !maps.Equal(before.Data, bag)) {
				i, _ := f.Interfaces.Find(e.Interface, e.Version)
				decisions = append(decisions, relation.Publish{Databag: said, Secret: i.Bag(e.Role, true).Secrets()})
			}
		}
	}
	return decisions
}

// records stores what is new of applications, and forgets those that are seen, that nothing declares or relates any more,
// and that have no bag.
func (s settlement) records(stored []relation.Record, bags []relation.Databag) (remembered, forgotten []relation.Decision) {
	before := make(map[string]*relation.Record, len(stored))
	for i, r := range stored {
		before[r.Name] = &stored[i]
	}
	for i := range s.recorded.entries {
		e := &s.recorded.entries[i]
		was, there := before[e.record.Name]
		if !there || !was.Seen || e.rollout != nil || e.record.Copied != was.Copied || !reflect.DeepEqual(&e.record.State, &was.State) {
			remembered = append(remembered, e.decisions(was)...)
		}
		delete(before, e.record.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		copied := s.copies[name].before.Stored // its copy goes first
		if copied || !before[name].Seen || slices.ContainsFunc(bags, func(b relation.Databag) bool { return b.Application == name }) {
			continue
		}
		forgotten = append(forgotten, relation.Forget{Record: *before[name]})
	}
	return remembered, forgotten
}

// decisions stores an entry. A rollout may be refused: what does not depend on it is stored before, as far as it is new.
func (e *entry) decisions(was *relation.Record) []relation.Decision {
	all := []relation.Decision{relation.Remember{Record: e.record, Rollout: e.rollout}}
	if e.rollout == nil {
		return all
	}
	before, stored := e.record, relation.Record{}
	if was != nil {
		stored = *was
	}
	before.State.Restarts = stored.State.Restarts
	if stored.Seen && before.Copied == stored.Copied && reflect.DeepEqual(before.State, stored.State) {
		return all
	}
	return append([]relation.Decision{relation.Remember{Record: before}}, all...)
}

// relates makes the relations that are new.
func (s settlement) relates() []relation.Decision {
	var decisions []relation.Decision
	known := len(s.matching.relations.all)
	for i, p := range s.limited.made {
		r := s.judged.relations.all[known+i]
		decisions = append(decisions, relation.Relate{Pair: p, Identity: r.UID, State: r.State})
	}
	return decisions
}

// updates stores what is new of relations, and deletes those that have an end, unless they depend
// on something unreadable.
func (s settlement) updates(u unreadable) []relation.Decision {
	var decisions []relation.Decision
	for i := range s.matching.relations.all {
		before, r := &s.matching.relations.all[i], &s.judged.relations.all[i]
		if _, released := s.lives.released[i]; released {
			continue
		}
		if !reflect.DeepEqual(&r.State, &before.State) || slices.Contains(s.matching.relations.heirs, i) {
			decisions = append(decisions, relation.Update{Relation: *r})
		}
		if r.Deleted.IsZero() && r.State.EndReason != "" && !u.freezes(*before) {
			decisions = append(decisions, relation.Finish{Relation: *r})
		}
	}
	for _, refused := range s.matching.refused {
		r := refused.Relation
		r.State = refused.state()
		if r.Deleted.IsZero() && !reflect.DeepEqual(r.State, refused.State) {
			decisions = append(decisions, relation.Update{Relation: r})
		}
	}
	return decisions
}

// duplicates shows on living relations that another one has their identity, as after a restore.
func (s settlement) duplicates(u unreadable) []relation.Decision {
	var decisions []relation.Decision
	for _, r := range s.succeeded {
		if !r.Deleted.IsZero() || r.State.HeldReason == relation.ReasonDeclarationGone || u.relation(r) {
			continue
		}
		before := r.State
		for _, current := range s.judged.relations.all {
			if current.UID == r.UID {
				r.State.Status, r.State.Conditions = relation.Failed, condition.Stuck(relation.ReasonRelated, alreadyRelated(current))
			}
		}
		if !reflect.DeepEqual(r.State, before) {
			decisions = append(decisions, relation.Update{Relation: r})
		}
	}
	return decisions
}

// answers stores what is new of Offers.
func (s settlement) answers(offers []relation.Offer) []relation.Decision {
	var decisions []relation.Decision
	for i, o := range offers {
		is := s.offers[i]
		if !o.Seen || o.State.Relations != is.Relations || !slices.Equal(o.State.Replaced, is.Replaced) ||
			!slices.Equal(o.State.Conditions, is.Conditions) {
			o.Seen, o.State = true, is
			decisions = append(decisions, relation.Answer{Offer: o})
		}
	}
	return decisions
}

// withdrawals deletes the bags and the outboxes that nothing needs.
func (s settlement) withdrawals() []relation.Decision {
	var decisions []relation.Decision
	for _, o := range s.retained.discarded {
		decisions = append(decisions, relation.Discard{Outbox: o})
	}
	for _, b := range s.retained.withdrawn {
		decisions = append(decisions, relation.Withdraw{Databag: b})
	}
	return decisions
}
