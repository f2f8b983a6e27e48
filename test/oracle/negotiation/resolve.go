package negotiation

import "gitlab.ilabt.imec.be/tengu/orcon/domain/application"

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
		if !n.answeredPeer(pair) {
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
