package relation

import (
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// full names the limit that leaves no place for a relation between the ends of k, and the
// relations that use it up; empty if there is a place (RELATIONS.md M3).
func (n *negotiation) full(k Key) string {
	return n.limitReached(k, func(Relation) bool { return true })
}

// overLimit does the same for a relation that was made before its limit was lowered, and
// counts the older relations only. It goes on all the same (SAFETY.md M8).
func (n *negotiation) overLimit(r Relation) string {
	return n.limitReached(r.Key, func(other Relation) bool { return byAge(other, r) < 0 })
}

func (n *negotiation) limitReached(k Key, counts func(Relation) bool) string {
	for _, e := range k.ends() {
		a, _ := n.app(e)
		endpoint, _ := a.Endpoint(e.Endpoint)
		if endpoint.Limit == 0 {
			continue
		}
		var others []string
		for r := range n.at(e) {
			if r.Key != k && n.hasPlace(r) && counts(r) {
				others = append(others, r.otherEnd(e).Written(n.Namespace))
			}
		}
		if len(others) >= endpoint.Limit {
			return limitText(e, endpoint.Limit, others)
		}
	}
	return ""
}

func limitText(e End, limit int, others []string) string {
	relations, which := "1 relation", "that relation"
	if limit > 1 {
		relations, which = fmt.Sprintf("%d relations", limit), "one of them"
	}
	return fmt.Sprintf("%s is limited to %s and has %s: raise the limit or end %s", e, relations, listed(others), which)
}

// at yields the relations of an end that are known in this namespace.
func (n *negotiation) at(e End) func(yield func(Relation) bool) {
	return func(yield func(Relation) bool) {
		for r := range n.of(e.from(n.Namespace)) {
			if (r.Requirer == e || r.Provider == e) && !yield(r) {
				return
			}
		}
		for _, r := range n.Consumers {
			if r.Provider == e && r.State.Offer != "" && !yield(r) {
				return
			}
		}
	}
}

// hasPlace reports whether a relation counts against a limit: it lives, and neither is
// held nor, once references are resolved, has just lost its declaration.
func (n *negotiation) hasPlace(r Relation) bool {
	declared := !r.Declared || !n.resolved || r.Requirer.Namespace != n.Namespace || n.isDeclared(r.Key)
	return r.Alive() && !r.Held() && declared
}

func (n *negotiation) isDeclared(k Key) bool {
	for _, i := range n.between[[2]string{k.Requirer.Application, k.Provider.from(n.Namespace)}] {
		if n.relations[i].Key == k && n.declared[i] {
			return true
		}
	}
	return false
}

// refuse notes that a reference of the requirer leads to a relation over a limit.
func (n *negotiation) refuse(k Key, full string) {
	ref := application.Reference{Endpoint: k.Requirer.Endpoint, Application: k.Provider.Application, RemoteEndpoint: k.Provider.Endpoint}
	name := k.Requirer.Application
	n.obstacles[name] = append(n.obstacles[name], Obstacle{Reference: ref, Reason: ReasonLimit, Stuck: true, Message: full})
}

// otherEnd returns the end of a relation that is not e.
func (k Key) otherEnd(e End) End {
	if k.Requirer == e {
		return k.Provider
	}
	return k.Requirer
}
