package relation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// find returns the application that a reference names: its own name, or that
// of a Service which joined it.
func (n *negotiation) find(ref application.Reference) (application.Application, bool) {
	if a, ok := n.apps[ref.Application]; ok {
		return a, true
	}
	a, ok := n.apps[n.services[ref.Application]]
	return a, ok
}

// resolve turns references into pairs to relate, or obstacles. A reference
// that a living relation already answers leads to nothing new: matching makes
// relations and never ends or moves one (SAFETY.md M8).
func (n *negotiation) resolve() {
	n.resolved = true
	seen := map[Key]bool{}
	for _, a := range n.Applications {
		n.resolvePeers(a)
		for _, ref := range a.Relations {
			if pair, obstacle := n.resolveOne(a, ref); obstacle != nil {
				n.obstacles[a.Name] = append(n.obstacles[a.Name], *obstacle)
			} else if pair != nil && !seen[pair.Key] {
				seen[pair.Key] = true
				n.pairs = append(n.pairs, *pair)
			}
		}
	}
}

// resolvePeers asks for a relation for each peers endpoint. They exist while the
// application does; nobody makes or removes them by hand (RELATIONS.md M4).
func (n *negotiation) resolvePeers(a application.Application) {
	for _, e := range a.Endpoints {
		if e.Role != application.Peer {
			continue
		}
		here := End{n.Namespace, a.Name, e.Name}
		pair := Pair{Key: Key{here, here}, Interface: e.Interface, Version: e.Version}
		alive := false
		for _, i := range n.between[[2]string{a.Name, a.Name}] {
			if r := n.relations[i]; r.Key == pair.Key && r.Interface == e.Interface {
				n.declared[i] = true
				alive = alive || r.Alive()
			}
		}
		if !alive {
			n.pairs = append(n.pairs, pair)
		}
	}
}

func (n *negotiation) resolveOne(a application.Application, ref application.Reference) (*Pair, *Obstacle) {
	if ref.Namespace != "" && ref.Namespace != n.Namespace {
		return n.resolveAbroad(a, ref)
	}
	b, found := n.find(ref)
	if !found {
		return nil, &Obstacle{Reference: ref, Reason: ReasonNoApplication, Message: n.nobody(ref.Application)}
	}
	if n.answered(a, b, ref) {
		return nil, nil
	}
	pair, obstacle := infer(end{n.Namespace, a}, end{n.Namespace, b}, ref)
	if obstacle != nil {
		return nil, obstacle
	}
	return &pair, nil
}

// nobody returns why no application has a name: an object of that name is ignored, or
// there is none, with the nearest name.
func (n *negotiation) nobody(name string) string {
	for _, o := range n.Orphans {
		if _, ignored, _ := strings.Cut(o.Object, "/"); ignored == name {
			return o.Message
		}
	}
	text := fmt.Sprintf("no Service or workload named %s in namespace %s", name, n.Namespace)
	// db-endpoint is not a misspelt sse-endpoint: typing mistakes are rare in a first letter.
	if nearest := application.Nearest(name, slices.Sorted(maps.Keys(n.apps))); nearest != "" && nearest[0] == name[0] {
		text += "; did you mean " + nearest + "?"
	}
	return text
}

// answered notes the relations between a and b that a reference of a declares,
// and reports whether one of them lives.
func (n *negotiation) answered(a, b application.Application, ref application.Reference) (alive bool) {
	for _, both := range [][2]string{{a.Name, b.Name}, {b.Name, a.Name}} {
		for _, i := range n.between[both] {
			if r := n.relations[i]; covers(a, b, ref, r.Key) {
				n.declared[i] = true
				alive = alive || r.Alive()
			}
		}
	}
	return alive
}

// covers reports whether a reference of a to b still declares the relation k:
// endpoints, roles and interfaces still agree. Their versions are a matter of
// new relations only (SAFETY.md M8).
func covers(a, b application.Application, ref application.Reference, k Key) bool {
	mine, theirs := k.Requirer, k.Provider
	requirer, provider := a, b
	if mine.Application != a.Name {
		mine, theirs = theirs, mine
		requirer, provider = b, a
	}
	if ref.Endpoint != "" && ref.Endpoint != mine.Endpoint || ref.RemoteEndpoint != "" && ref.RemoteEndpoint != theirs.Endpoint {
		return false
	}
	r, requires := requirer.Endpoint(k.Requirer.Endpoint)
	p, provides := provider.Endpoint(k.Provider.Endpoint)
	return requires && provides && r.Role == application.Requirer && p.Role == application.Provider && r.Interface == p.Interface
}
