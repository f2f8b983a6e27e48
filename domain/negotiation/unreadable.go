package negotiation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// unreadable has the objects that exist and cannot be read, which are unknown and not absent:
//
//   - they are not ended, withdrawn, forgotten, numbered anew or made a second time;
//   - relations that depend on them stay as they are, unless a person deletes them, and then until their sides can be read;
//   - while one may hold the highest relation id, no id is given;
//   - units whose departure one may remember are not forgotten.
//
// All else goes on.
type unreadable struct {
	namespace string
	all       []relation.Unreadable
	// relations has them by UID, records by namespace and application, databags by the names of
	// the bags that they stand for, sides by pair and role.
	relations map[string]relation.Unreadable
	records   map[relation.End]relation.Unreadable
	databags  map[relation.Home]relation.Unreadable
	pairs     unknownSides
}

// newUnreadable returns those of a snapshot, in order.
func newUnreadable(s relation.Snapshot) unreadable {
	u := unreadable{
		s.Namespace, sorted(s.Unreadable, func(a, b relation.Unreadable) int {
			return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
		}),
		map[string]relation.Unreadable{}, map[relation.End]relation.Unreadable{}, map[relation.Home]relation.Unreadable{}, unknownSides{},
	}
	for _, one := range u.all {
		switch one.Kind {
		case relation.KindRelation:
			u.relations[one.Relation.UID] = one
		case relation.KindRecord:
			u.records[relation.End{Namespace: one.Namespace, Application: one.Name}] = one
		case relation.KindDatabag:
			u.databags[relation.Home{Namespace: one.Namespace, Name: one.Name}] = one
		case relation.KindSide:
			u.pairs[pairSide{one.Side.Key, one.Side.Role}] = one
		}
	}
	u.claim(s)
	u.pairs.exclude(s)
	return u
}

// claim lets each unreadable bag stand for the one that its spec names too, unless that can
// be read.
func (u unreadable) claim(s relation.Snapshot) {
	if len(u.databags) == 0 {
		return
	}
	stored := map[relation.Home]bool{}
	for _, b := range s.Databags {
		stored[relation.Home{Namespace: s.Namespace, Name: b.Name()}] = true
	}
	for _, from := range s.Abroad {
		for _, b := range from.Databags {
			stored[relation.Home{Namespace: from.Namespace, Name: b.Name()}] = true
		}
	}
	for _, one := range u.all {
		named := relation.Home{Namespace: one.Namespace, Name: one.Databag.Name()}
		if _, taken := u.databags[named]; one.Kind == relation.KindDatabag && !stored[named] && !taken {
			u.databags[named] = one
		}
	}
}

// listed returns a snapshot that lists the unreadable Relations with the others: they exist, so
// that they have their places at endpoints and keep what is about them.
func (u unreadable) listed(s relation.Snapshot) relation.Snapshot {
	for _, one := range u.all {
		switch {
		case one.Kind != relation.KindRelation:
		case one.Namespace == s.Namespace:
			s.Relations = append(slices.Clip(s.Relations), one.Relation)
		default:
			s.Consumers = append(slices.Clip(s.Consumers), one.Relation)
		}
	}
	return s
}

// relation reports whether a Relation is unreadable itself.
func (u unreadable) relation(r relation.Relation) bool {
	_, is := u.relations[r.UID]
	return is
}

// record reports whether the record of the application of an end is unreadable.
func (u unreadable) record(e relation.End) bool {
	_, is := u.records[relation.End{Namespace: e.Namespace, Application: e.Application}]
	return is
}

// databag reports whether an unreadable object stands for a bag of a namespace.
func (u unreadable) databag(namespace string, b relation.Databag) (relation.Unreadable, bool) {
	if len(u.databags) == 0 {
		return relation.Unreadable{}, false
	}
	one, is := u.databags[relation.Home{Namespace: namespace, Name: b.Name()}]
	return one, is
}

// under returns the unreadable object that a relation depends on, and whether there is one: the
// Relation, or of an end the record, the side or a bag.
func (u unreadable) under(r relation.Relation) (relation.Unreadable, bool) {
	if len(u.all) == 0 {
		return relation.Unreadable{}, false
	}
	if one, is := u.relations[r.UID]; is {
		return one, true
	}
	for _, e := range r.Ends() {
		if one, is := u.records[relation.End{Namespace: e.Namespace, Application: e.Application}]; is {
			return one, true
		}
		if one, is := u.pairs.of(r, e); is {
			return one, true
		}
		shared := relation.Databag{Application: e.Application, Endpoint: e.Endpoint}
		own := shared
		own.Relation = r.UID
		for _, b := range []relation.Databag{shared, own} {
			if one, is := u.databag(e.Namespace, b); is {
				return one, true
			}
		}
	}
	return relation.Unreadable{}, false
}

// freezes reports whether a relation stays as it is.
func (u unreadable) freezes(r relation.Relation) bool {
	_, frozen := u.under(r)
	return frozen
}

// numbering returns an object that may hold the highest relation id of the namespace, and
// whether there is one.
func (u unreadable) numbering() (relation.Unreadable, bool) {
	i := slices.IndexFunc(u.all, func(one relation.Unreadable) bool {
		return one.Namespace == u.namespace && (one.Kind == relation.KindRelation && one.Relation.State.ID == 0 ||
			one.Kind == relation.KindSide && one.Side.ID == 0)
	})
	if i < 0 {
		return relation.Unreadable{}, false
	}
	return u.all[i], true
}

// remembers reports whether an unreadable Relation may remember the departure of units of an
// application of the namespace.
func (u unreadable) remembers(application string) bool {
	for _, one := range u.relations {
		for _, e := range one.Relation.Ends() {
			if e.Namespace == u.namespace && e.Application == application {
				return true
			}
		}
	}
	return false
}

// keeps reports whether a bag may be needed by what is unreadable.
func (u unreadable) keeps(b relation.Databag) bool {
	_, is := u.relations[b.Relation]
	return is || u.record(relation.End{Namespace: u.namespace, Application: b.Application}) || u.pairs.keep(u.namespace, b)
}

// text returns why nothing is done to an unreadable object, and the cure. What is wrong in
// another namespace is not shown (SAFETY.md M7).
func (u unreadable) text(one relation.Unreadable) string {
	kind := strings.ToLower(one.Kind)
	if one.Namespace != u.namespace {
		return fmt.Sprintf("%s %s of namespace %s cannot be read: it must be corrected there", one.Kind, one.Name, one.Namespace)
	}
	cost := map[string]string{
		relation.KindRecord: ", which numbers its units anew", relation.KindSide: ", which gives up an end that it owes to handlers",
	}[one.Kind]
	return fmt.Sprintf("%s, so that nothing is done to it: kubectl -n %s get %s %s -o yaml shows it; correct it, or delete it%s",
		one.Problem, one.Namespace, kind, one.Name, cost)
}

// conditions returns those of an unreadable object, and of a new relation that depends on one.
func (u unreadable) conditions(one relation.Unreadable) []condition.Condition {
	return condition.Stuck(relation.ReasonUnreadable, u.text(one))
}

// unnumbered returns why no relation is given an id.
func (u unreadable) unnumbered(one relation.Unreadable) string {
	return fmt.Sprintf("no new relation is possible while %s %s cannot be read, since it may hold the highest id: %s", one.Kind, one.Name,
		u.text(one))
}

// beside returns conditions with those of an unreadable object in place of the summary.
func (u unreadable) beside(one relation.Unreadable, others []condition.Condition) []condition.Condition {
	return slices.Concat(u.conditions(one), slices.DeleteFunc(slices.Clone(others), func(c condition.Condition) bool {
		return slices.Contains([]condition.Type{condition.Ready, condition.Reconciling, condition.Stalled}, c.Type)
	}))
}

// marks stores on each unreadable object of the namespace that it is unreadable. Its other
// conditions stay. A side has none: its relation and its application show it.
func (u unreadable) marks() []relation.Decision {
	var decisions []relation.Decision
	for _, one := range u.all {
		if one.Namespace != u.namespace || one.Kind == relation.KindSide {
			continue
		}
		is := u.beside(one, one.Conditions)
		if !slices.Equal(is, one.Conditions) {
			one.Conditions = is
			decisions = append(decisions, relation.Mark{Unreadable: one})
		}
	}
	return decisions
}
