package negotiation

import (
	"iter"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// relations holds the relations of a namespace, indexed, and which of them are declared.
type relations struct {
	namespace string
	all       []relation.Relation
	// consumers are the relations of other namespaces with applications of this one.
	consumers []relation.Relation
	// index lists, for each application, its places in all; between lists them for
	// each requirer and provider, as this namespace names them.
	index   map[string][]int
	between map[[2]string][]int
	// heirs has the places of the relations that take over another one's identity now.
	heirs []int
	// declared has the places of the relations that a reference declares; nil before
	// references are resolved.
	declared map[int]bool
}

// newRelations returns an index that has no relation yet, and room for some.
func newRelations(namespace string, room int, consumers []relation.Relation) relations {
	return relations{
		namespace: namespace, all: make([]relation.Relation, 0, room), consumers: consumers,
		index: make(map[string][]int, room), between: make(map[[2]string][]int, room),
	}
}

// add adds a relation.
func (l *relations) add(r relation.Relation) {
	i := len(l.all)
	l.all = append(l.all, r)
	l.index[r.Requirer.Application] = append(l.index[r.Requirer.Application], i)
	both := l.sides(r.Key)
	l.between[both] = append(l.between[both], i)
	if both[0] != both[1] {
		l.index[both[1]] = append(l.index[both[1]], i)
	}
}

// with returns the relations in other states. The slice all has them in the same order.
func (l *relations) with(all []relation.Relation) relations {
	other := *l
	other.all = all
	return other
}

// sides returns the requirer and the provider of a pair as this namespace names them.
func (l *relations) sides(k relation.Key) [2]string {
	return [2]string{k.Requirer.Application, k.Provider.From(l.namespace)}
}

// of yields the relations of an application, oldest first.
func (l *relations) of(application string) iter.Seq[relation.Relation] {
	return func(yield func(relation.Relation) bool) {
		for _, i := range l.index[application] {
			if !yield(l.all[i]) {
				return
			}
		}
	}
}

// at yields the relations of an end that are known in this namespace.
func (l *relations) at(e relation.End) iter.Seq[relation.Relation] {
	return func(yield func(relation.Relation) bool) {
		for r := range l.of(e.From(l.namespace)) {
			if (r.Requirer == e || r.Provider == e) && !yield(r) {
				return
			}
		}
		for _, r := range l.consumers {
			if r.Provider == e && r.Opened() && !yield(r) {
				return
			}
		}
	}
}

// first returns the first relation of a pair.
func (l *relations) first(k relation.Key) (relation.Relation, bool) {
	for _, i := range l.between[l.sides(k)] {
		if l.all[i].Key == k {
			return l.all[i], true
		}
	}
	return relation.Relation{}, false
}

// inherit has a new Relation of a pair take over from the first, if there is one: no handler learns of it (TRUST.md A11).
// It reports whether it does.
func (l *relations) inherit(heir relation.Relation) bool {
	for _, i := range l.between[l.sides(heir.Key)] {
		if first := l.all[i]; first.Key == heir.Key {
			l.all[i] = heir.Inherits(first)
			l.heirs = append(l.heirs, i)
			return true
		}
	}
	return false
}

// isDeclared reports whether a reference declares a relation of the pair.
func (l *relations) isDeclared(k relation.Key) bool {
	return slices.ContainsFunc(l.between[l.sides(k)], func(i int) bool { return l.all[i].Key == k && l.declared[i] })
}

// hasPlace reports whether a relation counts against a limit: it lives, and neither is
// held nor, once references are resolved, has just lost its declaration.
func (l *relations) hasPlace(r relation.Relation) bool {
	declared := !r.Declared || l.declared == nil || r.Requirer.Namespace != l.namespace || l.isDeclared(r.Key)
	return r.Alive() && !r.Held() && declared
}

// inUse reports whether a relation is about an end of this namespace.
func (l *relations) inUse(e relation.End) bool {
	for range l.at(e) {
		return true
	}
	return false
}

// answering returns the places of the relations between a and b that a reference of a
// declares, and whether one of them is alive.
func (l *relations) answering(a, b application.Application, ref application.Reference) (places []int, alive bool) {
	for _, both := range [][2]string{{a.Name, b.Name}, {b.Name, a.Name}} {
		for _, i := range l.between[both] {
			if r := l.all[i]; covers(a, b, ref, r) {
				places, alive = append(places, i), alive || r.Alive()
			}
		}
	}
	return places, alive
}

// answeringAbroad returns the places of the relations that a reference to another
// namespace declares, and whether one of them is alive. What the provider offers does not
// matter: an Offer that was withdrawn suspends a relation and never ends it.
func (l *relations) answeringAbroad(a application.Application, ref application.Reference) (places []int, alive bool) {
	for _, i := range l.between[[2]string{a.Name, ref.Application + "." + ref.Namespace}] {
		r := l.all[i]
		mine, declared := a.Endpoint(r.Requirer.Endpoint)
		if !declared || mine.Role != application.Requirer || mine.Interface != r.Interface ||
			ref.Endpoint != "" && ref.Endpoint != mine.Name || ref.RemoteEndpoint != "" && ref.RemoteEndpoint != r.Provider.Endpoint {
			continue
		}
		places, alive = append(places, i), alive || r.Alive()
	}
	return places, alive
}

// answeringPeer returns the places of the relations of the units of one application on an
// endpoint, and whether one of them is alive.
func (l *relations) answeringPeer(p relation.Pair) (places []int, alive bool) {
	for _, i := range l.between[l.sides(p.Key)] {
		if r := l.all[i]; r.Key == p.Key && r.Interface == p.Interface {
			places, alive = append(places, i), alive || r.Alive()
		}
	}
	return places, alive
}
