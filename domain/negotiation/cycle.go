package negotiation

import (
	"maps"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// cycles finds the applications whose gates wait for each other's data: each maps to the members of its cycle, in
// order of name (SAFETY.md I17). An application that starts without waiting, or waits on an optional endpoint, is in
// none, nor is one with handlers.
func (s standings) cycles(waiting map[string][]relation.Waiting) map[string][]string {
	waits := map[string][]string{}
	for _, r := range s.relations.all {
		name := r.Requirer.Application
		if s.contents.gated(r) && gates(s.apps[name], r.Requirer.Endpoint, waiting[name]) {
			waits[name] = append(waits[name], r.Provider.Application)
		}
	}
	members := map[string][]string{}
	for _, group := range mutual(waits) {
		for _, name := range group {
			members[name] = group
		}
	}
	return members
}

// gated reports whether a relation lacks data that its provider's containers may give once they have started: handlers
// run before, and consent to a grant is a person's.
func (c contents) gated(r relation.Relation) bool {
	ready, _ := condition.Find(r.State.Conditions, condition.Ready)
	lacks := ready.Reason == relation.ReasonNoData || ready.Reason == relation.ReasonMissing
	_, ungranted := c.ungranted(r, r.Provider)
	return lacks && !ungranted && !r.Abroad() && !c.handled(r.Provider)
}

// gates reports whether the start gate of an application waits for an endpoint.
func gates(a application.Application, endpoint string, waiting []relation.Waiting) bool {
	return !a.Ungated && slices.ContainsFunc(waiting, func(w relation.Waiting) bool { return w.Endpoint == endpoint && !w.Optional })
}

// mutual returns the groups of two or more nodes that all reach each other, each
// in order (Tarjan's strongly connected components, in linear time).
func mutual(edges map[string][]string) [][]string {
	t := tarjan{edges: edges, number: map[string]int{}, low: map[string]int{}, open: map[string]bool{}}
	for _, node := range slices.Sorted(maps.Keys(edges)) {
		if t.number[node] == 0 {
			t.visit(node)
		}
	}
	return t.groups
}

type tarjan struct {
	edges       map[string][]string
	number, low map[string]int
	open        map[string]bool
	stack       []string
	groups      [][]string
}

func (t *tarjan) visit(node string) {
	t.number[node] = len(t.number) + 1
	t.low[node] = t.number[node]
	t.stack, t.open[node] = append(t.stack, node), true
	for _, next := range t.edges[node] {
		switch {
		case t.number[next] == 0:
			t.visit(next)
			t.low[node] = min(t.low[node], t.low[next])
		case t.open[next]:
			t.low[node] = min(t.low[node], t.number[next])
		}
	}
	if t.low[node] != t.number[node] {
		return
	}
	at := slices.Index(t.stack, node)
	group := slices.Sorted(slices.Values(t.stack[at:]))
	t.stack = t.stack[:at]
	for _, member := range group {
		t.open[member] = false
	}
	if len(group) > 1 {
		t.groups = append(t.groups, group)
	}
}
