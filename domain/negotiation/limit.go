package negotiation

import (
	"fmt"
	"maps"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// limits says which relations have a place at their endpoints (RELATIONS.md M3).
type limits struct {
	*facts
	relations *relations
}

// full names the limit that leaves no place for a relation between the ends of k, and the
// relations that use it up; empty if there is a place.
func (l limits) full(k relation.Key) string {
	return l.reached(k, func(relation.Relation) bool { return true })
}

// over does the same for a relation that was made before its limit was lowered, and
// counts the older relations only. It goes on all the same (SAFETY.md M8).
func (l limits) over(r relation.Relation) string {
	return l.reached(r.Key, func(other relation.Relation) bool { return relation.Compare(other, r) < 0 })
}

func (l limits) reached(k relation.Key, counts func(relation.Relation) bool) string {
	for _, e := range k.Ends() {
		a, _ := l.app(e)
		endpoint, _ := a.Endpoint(e.Endpoint)
		if endpoint.Limit == 0 {
			continue
		}
		var others []string
		for r := range l.relations.at(e) {
			if r.Key != k && l.relations.hasPlace(r) && counts(r) {
				others = append(others, r.Other(e).Written(l.Namespace))
			}
		}
		if len(others) >= endpoint.Limit {
			return limitText(e, endpoint.Limit, others)
		}
	}
	return ""
}

func limitText(e relation.End, limit int, others []string) string {
	relations, which := "1 relation", "that relation"
	if limit > 1 {
		relations, which = fmt.Sprintf("%d relations", limit), "one of them"
	}
	return fmt.Sprintf("%s is limited to %s and has %s: raise the limit or end %s", e, relations, listed(others), which)
}

// limited has the relations after those were made that have a place.
type limited struct {
	relations relations
	// made are the pairs of the new ones, which come last.
	made []relation.Pair
	// obstacles has why others are not made, by application.
	obstacles map[string][]relation.Obstacle
}

// limit makes the relations that are declared, within their limits.
func limit(f *facts, m matching, l lives) limited {
	made := limited{relations: l.relations, obstacles: map[string][]relation.Obstacle{}}
	if len(m.pairs) == 0 {
		return made
	}
	made.relations = newRelations(f.Namespace, len(l.relations.all)+len(m.pairs), f.Consumers)
	made.relations.declared = maps.Clone(l.relations.declared)
	taken := map[string]relation.Key{}
	for _, r := range m.refused {
		taken[r.Name] = r.Key
	}
	for _, r := range l.relations.all {
		made.relations.add(r)
		taken[r.Name] = r.Key
	}
	lastID := l.lastID
	for _, p := range m.pairs {
		_, dying := made.relations.first(p.Key)
		holder, held := taken[p.Name()]
		if dying || held && holder == p.Key {
			continue // made again when it is dead, with a new id; or it is refused, and says why
		}
		if o := (limits{f, &made.relations}).obstacle(p.Key, held); o != nil {
			name := p.Requirer.Application
			made.obstacles[name] = append(made.obstacles[name], *o)
			continue
		}
		id := f.sides.known(p.Key, f.Namespace)
		if id == 0 {
			lastID++
			id = lastID
		}
		r := relation.Relation{Key: p.Key, Interface: p.Interface, Version: p.Version, Declared: true, Name: p.Name()}
		r.UID = f.sides.again(p.Key, newIdentity(f.Seed, p.Key))
		r.State = relation.State{ID: id, Began: f.Now, Retain: f.retention(p.Key)}
		made.relations.declared[len(made.relations.all)] = true
		made.relations.add(offers{f}.consent(r))
		made.made = append(made.made, p)
	}
	return made
}

// obstacle returns why no relation is made between the ends of k; nil if one is. taken reports that a Relation of other
// ends has its name.
func (l limits) obstacle(k relation.Key, taken bool) *relation.Obstacle {
	o := overLimit(k, "")
	before, owed := l.sides.owing(k)
	full, unreadable := l.full(k), unreadableFor(l.unreadable, k)
	switch {
	case full != "":
		o.Message = fmt.Sprintf("%s has no relation with %s: %s", k.Requirer, k.Provider.Written(l.Namespace), full)
	case owed:
		o.Reason, o.Stuck, o.Message = relation.ReasonEndOwed, false, owedBefore(l.Namespace, before)
	case unreadable != "":
		o.Reason, o.Message = relation.ReasonUnreadable, unreadable
	case taken:
		o.Reason, o.Message = application.ReasonNameTaken, fmt.Sprintf("Relation %s of other ends has the name that the relation of %s with %s "+
			"needs: delete it, and create it with another name", k.Name(), k.Requirer, k.Provider.Written(l.Namespace))
	default:
		return nil
	}
	return &o
}

// unreadableFor names the unreadable object that keeps a pair from getting a relation; "" for none.
func unreadableFor(u unreadable, k relation.Key) string {
	if holder, held := u.numbering(); held {
		return u.unnumbered(holder)
	}
	if one, unknown := u.pairs.pair(k); unknown {
		return u.text(one)
	}
	return ""
}

// overLimit returns that a reference of the requirer leads to a relation over a limit.
func overLimit(k relation.Key, why string) relation.Obstacle {
	ref := application.Reference{Endpoint: k.Requirer.Endpoint, Application: k.Provider.Application, RemoteEndpoint: k.Provider.Endpoint}
	return relation.Obstacle{Reference: ref, Reason: relation.ReasonLimit, Stuck: true, Message: why}
}
