package negotiation

import (
	"iter"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// related are the relations of a namespace, and what declares them.
type related struct {
	namespace string
	// relations have the state that this run gives them.
	relations []Relation
	// consumers are the relations of other namespaces with applications of this one.
	consumers []Relation
	// index lists, for each application, its places in relations; between lists them for
	// each requirer and provider, as this namespace names them.
	index   map[string][]int
	between map[[2]string][]int
	// declared are the places of the relations that a reference declares, known once
	// resolved is set.
	declared map[int]bool
	resolved bool
}

func newRelated(s Snapshot) related {
	some := len(s.Relations)
	return related{
		namespace: s.Namespace, relations: make([]Relation, 0, some), consumers: s.Consumers,
		index: make(map[string][]int, some), between: make(map[[2]string][]int, some), declared: make(map[int]bool, some),
	}
}

// add adds a relation.
func (l *related) add(r Relation) {
	l.note(r.Key, len(l.relations))
	l.relations = append(l.relations, r)
}

// note enters the relation at place i into the index of both its applications.
func (l *related) note(k Key, i int) {
	l.index[k.Requirer.Application] = append(l.index[k.Requirer.Application], i)
	both := [2]string{k.Requirer.Application, k.Provider.from(l.namespace)}
	l.between[both] = append(l.between[both], i)
	if both[0] != both[1] {
		l.index[both[1]] = append(l.index[both[1]], i)
	}
}

// of yields the relations of an application, oldest first.
func (l *related) of(application string) iter.Seq[Relation] {
	return func(yield func(Relation) bool) {
		for _, i := range l.index[application] {
			if !yield(l.relations[i]) {
				return
			}
		}
	}
}

// at yields the relations of an end that are known in this namespace.
func (l *related) at(e End) func(yield func(Relation) bool) {
	return func(yield func(Relation) bool) {
		for r := range l.of(e.from(l.namespace)) {
			if (r.Requirer == e || r.Provider == e) && !yield(r) {
				return
			}
		}
		for _, r := range l.consumers {
			if r.Provider == e && r.State.Offer != "" && !yield(r) {
				return
			}
		}
	}
}

// first returns the first relation of a pair that has not been removed.
func (l *related) first(k Key) (Relation, bool) {
	for _, i := range l.between[[2]string{k.Requirer.Application, k.Provider.from(l.namespace)}] {
		if l.relations[i].Key == k {
			return l.relations[i], true
		}
	}
	return Relation{}, false
}

// isDeclared reports whether a reference declares a relation of the pair.
func (l *related) isDeclared(k Key) bool {
	for _, i := range l.between[[2]string{k.Requirer.Application, k.Provider.from(l.namespace)}] {
		if l.relations[i].Key == k && l.declared[i] {
			return true
		}
	}
	return false
}

// hasPlace reports whether a relation counts against a limit: it lives, and neither is
// held nor, once references are resolved, has just lost its declaration.
func (l *related) hasPlace(r Relation) bool {
	declared := !r.Declared || !l.resolved || r.Requirer.Namespace != l.namespace || l.isDeclared(r.Key)
	return r.Alive() && !r.Held() && declared
}

// inUse reports whether a relation is about an end of this namespace.
func (l *related) inUse(e End) bool {
	for r := range l.of(e.Application) {
		if r.Provider == e || r.Requirer == e {
			return true
		}
	}
	return slices.ContainsFunc(l.consumers, func(r Relation) bool { return r.Provider == e && r.State.Offer != "" })
}

// answered marks the relations between a and b that a reference of a declares, and
// reports whether one of them is alive.
func (l *related) answered(a, b application.Application, ref application.Reference) (alive bool) {
	for _, both := range [][2]string{{a.Name, b.Name}, {b.Name, a.Name}} {
		for _, i := range l.between[both] {
			if r := l.relations[i]; covers(a, b, ref, r.Key) {
				l.declared[i] = true
				alive = alive || r.Alive()
			}
		}
	}
	return alive
}

// answeredAbroad marks the relations that a reference to another namespace declares, and
// reports whether one of them is alive. What the provider offers does not matter: an
// Offer that was withdrawn suspends a relation and never ends it.
func (l *related) answeredAbroad(a application.Application, ref application.Reference) (alive bool) {
	for _, i := range l.between[[2]string{a.Name, ref.Application + "." + ref.Namespace}] {
		r := l.relations[i]
		mine, declared := a.Endpoint(r.Requirer.Endpoint)
		if !declared || mine.Role != application.Requirer || mine.Interface != r.Interface ||
			ref.Endpoint != "" && ref.Endpoint != mine.Name || ref.RemoteEndpoint != "" && ref.RemoteEndpoint != r.Provider.Endpoint {
			continue
		}
		l.declared[i] = true
		alive = alive || r.Alive()
	}
	return alive
}

// answeredPeer marks the relations of the units of one application on an endpoint, and
// reports whether one of them is alive.
func (l *related) answeredPeer(p Pair) (alive bool) {
	name := p.Requirer.Application
	for _, i := range l.between[[2]string{name, name}] {
		if r := l.relations[i]; r.Key == p.Key && r.Interface == p.Interface {
			l.declared[i] = true
			alive = alive || r.Alive()
		}
	}
	return alive
}
