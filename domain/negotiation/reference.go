package negotiation

import (
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// matching holds the admitted relations, and the pairs and obstacles of other declarations.
type matching struct {
	// relations are those that there are, without the refused.
	relations relations
	// refused are the manual relations that cannot be; nothing but their own status
	// shows them.
	refused []refusal
	// pairs lists the declared pairs that are not yet related.
	pairs []relation.Pair
	// obstacles has why references lead nowhere, by application.
	obstacles map[string][]relation.Obstacle
}

// match admits manual relations and turns references into pairs to relate, or obstacles. A
// reference that a living relation already answers leads to nothing new: matching makes
// relations and never ends or moves one (SAFETY.md M8).
func match(f *facts) matching {
	known, refused := admit(f)
	m := matching{relations: known, refused: refused, obstacles: map[string][]relation.Obstacle{}}
	declared, seen := map[int]bool{}, map[relation.Key]bool{}
	matcher := matcher{f, &known, map[string]string{}}
	for _, a := range f.Applications {
		for _, lead := range matcher.leads(a) {
			for _, i := range lead.places {
				declared[i] = true
			}
			if lead.obstacle != nil {
				m.obstacles[a.Name] = append(m.obstacles[a.Name], *lead.obstacle)
			} else if lead.pair != nil && !seen[lead.pair.Key] {
				seen[lead.pair.Key] = true
				m.pairs = append(m.pairs, *lead.pair)
			}
		}
	}
	m.relations.declared = declared
	return m
}

// matcher says what declarations lead to, as far as the relations are known.
type matcher struct {
	*facts
	known *relations
	// missing has why names are those of no application: ten thousand may refer to one
	// that is gone, and looking for the nearest name takes long.
	missing map[string]string
}

// lead is the result of following one reference: the places of the relations that it declares, and if none of them is
// alive a pair to relate or an obstacle.
type lead struct {
	places   []int
	pair     *relation.Pair
	obstacle *relation.Obstacle
}

// leads returns what the declarations of an application lead to. Each peers endpoint
// has a relation while the application exists; it is not made or removed by hand
// (RELATIONS.md M4).
func (m matcher) leads(a application.Application) []lead {
	var all []lead
	for _, e := range a.Endpoints {
		if e.Role == application.Peer {
			here := m.here(a.Name, e.Name)
			pair := relation.Pair{Key: relation.Key{Requirer: here, Provider: here}, Interface: e.Interface, Version: e.Version}
			places, alive := m.known.answeringPeer(pair)
			all = append(all, leadOf(places, alive, func() (relation.Pair, *relation.Obstacle) { return pair, nil }))
		}
	}
	for _, ref := range a.Relations {
		all = append(all, m.lead(a, ref))
	}
	return all
}

func (m matcher) lead(a application.Application, ref application.Reference) lead {
	if ref.Namespace != "" && ref.Namespace != m.Namespace {
		places, alive := m.known.answeringAbroad(a, ref)
		return leadOf(places, alive, func() (relation.Pair, *relation.Obstacle) { return m.inferAbroad(a, ref) })
	}
	b, found := m.find(ref)
	if !found {
		why, known := m.missing[ref.Application]
		if !known {
			why = m.noSuch(ref.Application)
			m.missing[ref.Application] = why
		}
		return lead{obstacle: &relation.Obstacle{Reference: ref, Reason: relation.ReasonNoApplication, Message: why}}
	}
	places, alive := m.known.answering(a, b, ref)
	return leadOf(places, alive, func() (relation.Pair, *relation.Obstacle) {
		return infer(end{m.Namespace, a}, end{m.Namespace, b}, ref)
	})
}

// leadOf returns the lead of a reference that declares the relations at some places.
// Where none is alive infer says what is to be related.
func leadOf(places []int, alive bool, infer func() (relation.Pair, *relation.Obstacle)) lead {
	if alive {
		return lead{places: places}
	}
	pair, obstacle := infer()
	if obstacle != nil {
		return lead{places: places, obstacle: obstacle}
	}
	return lead{places: places, pair: &pair}
}

// covers reports whether a reference of a to b still declares a relation: endpoints, roles and interfaces still agree,
// and are those of the relation. Versions are a matter of new relations only (SAFETY.md M8).
func covers(a, b application.Application, ref application.Reference, is relation.Relation) bool {
	mine, theirs := is.Requirer, is.Provider
	requirer, provider := a, b
	if mine.Application != a.Name {
		mine, theirs = theirs, mine
		requirer, provider = b, a
	}
	if ref.Endpoint != "" && ref.Endpoint != mine.Endpoint || ref.RemoteEndpoint != "" && ref.RemoteEndpoint != theirs.Endpoint {
		return false
	}
	r, requires := requirer.Endpoint(is.Requirer.Endpoint)
	p, provides := provider.Endpoint(is.Provider.Endpoint)
	return requires && provides && r.Role == application.Requirer && p.Role == application.Provider &&
		r.Interface == is.Interface && p.Interface == is.Interface
}
