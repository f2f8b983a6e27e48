package negotiation

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

// refuse notes that a reference of the requirer leads to a relation over a limit, and why.
func (n *negotiation) refuse(k Key, why string) {
	ref := application.Reference{Endpoint: k.Requirer.Endpoint, Application: k.Provider.Application, RemoteEndpoint: k.Provider.Endpoint}
	name := k.Requirer.Application
	n.obstacles[name] = append(n.obstacles[name], Obstacle{Reference: ref, Reason: ReasonLimit, Stuck: true, Message: why})
}

// otherEnd returns the end of a relation that is not e.
func (k Key) otherEnd(e End) End {
	if k.Requirer == e {
		return k.Provider
	}
	return k.Requirer
}
