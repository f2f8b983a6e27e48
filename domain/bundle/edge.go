package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// Edge says that an object waits for another.
type Edge struct {
	To ID
	// Serving asks of a Service that it answers: an available workload and at least one
	// ready endpoint. Of all else, and otherwise, being healthy is asked.
	Serving bool
	// Why says who wants it.
	Why string
}

// graph holds the findings of Order: items, and the position of each by the name that its author gave.
type graph struct {
	items  Sequence
	places map[ID]int
	// edges are those that there are, as positions.
	edges map[[2]int]bool
}

// Order works in the controller of all bundles, within these bounds (TRUST.md U6): a few names, multiplied, make any number
// of edges, and of faults.
const (
	mostEdges  = 100_000
	mostFaults = 20
)

// errEdges is the error of objects that wait for too many others.
var errEdges = fmt.Errorf("the objects wait for each other in more than %d ways: name fewer (annotation %s, or spec.canaries)", mostEdges,
	AfterKey)

// vast reports whether there are too many edges.
func (g *graph) vast() bool { return len(g.edges) > mostEdges }

// edge adds an edge; of two to the same object the first stays. What is too much is left out.
func (g *graph) edge(from, to int, why string) {
	if g.edges[[2]int{from, to}] || g.vast() {
		return
	}
	g.edges[[2]int{from, to}] = true
	target := g.items[to].ID
	g.items[from].After = append(g.items[from].After, Edge{To: target, Serving: target.kind() == "Service", Why: why})
}

// explicit adds what the annotations say.
func (g *graph) explicit() error {
	var faults []error
	n := g.names()
	for i := range g.items {
		for _, t := range g.items[i].after {
			if len(faults) == mostFaults || g.vast() {
				return errors.Join(faults...)
			}
			to, err := n.find(t, g.items[i].Origin)
			if err != nil {
				faults = append(faults, fmt.Errorf("cannot order %s: annotation %s: %w", g.items[i].Origin, AfterKey, err))
				continue
			}
			g.edge(i, to, "annotation "+AfterKey)
		}
	}
	return errors.Join(faults...)
}

// named has the positions of items by their names, once with their groups, and once with a star for any group.
type named struct {
	items  Sequence
	places map[ID][]int
}

// names returns the items by their names.
func (g *graph) names() named {
	n := named{g.items, map[ID][]int{}}
	for i, item := range g.items {
		id := item.Origin
		n.places[id] = append(n.places[id], i)
		id.Group = star
		n.places[id] = append(n.places[id], i)
	}
	return n
}

// find returns the place of the one object that a target fits.
func (n named) find(t Target, from ID) (int, error) {
	var found []int
	var names []string
	for _, i := range n.near(t, from) {
		if item := n.items[i]; t.fits(item.Origin, from) {
			found = append(found, i)
			names = append(names, item.Origin.target())
		}
	}
	switch len(found) {
	case 0:
		return 0, n.unknown(t)
	case 1:
		return found[0], nil
	}
	return 0, fmt.Errorf("%q is more than one object: write one of %s", t, strings.Join(some(names), ", "))
}

// near returns the positions of the items that a target may fit, in their order.
func (n named) near(t Target, from ID) []int {
	id := ID{Group: cmp.Or(t.Group, star), Kind: t.Kind, Namespace: cmp.Or(t.Namespace, from.Namespace), Name: t.Name}
	all := n.places[id]
	if t.Namespace == "" && id.Namespace != "" { // objects of the whole cluster
		id.Namespace = ""
		all = slices.Concat(all, n.places[id])
		slices.Sort(all)
	}
	return all
}

// unknown says what may be meant by a target that fits nothing.
func (n named) unknown(t Target) error {
	var known []string
	for _, item := range n.items {
		if item.Origin.Kind == t.Kind && item.Origin.Name == t.Name {
			return fmt.Errorf("%q is not in the bundle: did you mean %q?", t, item.Origin.target())
		}
		known = append(known, item.Origin.target(), Target{Kind: item.Origin.Kind, Name: item.Origin.Name}.String())
	}
	if near := spelling.Nearest(t.String(), known); near != "" {
		return fmt.Errorf("%q is not in the bundle: did you mean %q?", t, near)
	}
	return fmt.Errorf("%q is not in the bundle: add it, or remove it from the annotation", t)
}

// derive adds what follows from the objects themselves: custom resources wait for their
// definition and what converts them, webhooks without a phase of their own for what answers
// them, Jobs for what they name.
func (g *graph) derive() {
	definitions := map[ID]int{}
	for i, item := range g.items {
		if item.ID.kind() == definition {
			definitions[ID{Group: item.Object.Text("spec", "group"), Kind: item.Object.Text("spec", "names", "kind")}] = i
		}
	}
	for i, item := range g.items {
		if d, defined := definitions[ID{Group: item.ID.Group, Kind: item.ID.Kind}]; defined {
			g.edge(i, d, "it is of that kind")
			g.service(i, "it converts that kind", g.items[d].Object.At("spec", "conversion", "webhook", "clientConfig", "service"))
		}
		g.service(i, "it serves that API", item.apiService())
		for _, w := range elements(item.hooks()) {
			g.service(i, "it answers the webhook", w.At("clientConfig", "service"))
		}
		if item.job() {
			g.named(i)
		}
	}
}

// hooks returns the webhooks that must be answered before they are called. An author who names a phase has others: a
// server may wait for its own configuration to trust it.
func (i Item) hooks() any {
	if i.Object.Annotation(PhaseKey) != "" {
		return nil
	}
	return i.Object.At("webhooks")
}

func (i Item) apiService() any {
	if i.ID.kind() != "APIService.apiregistration.k8s.io" {
		return nil
	}
	return i.Object.At("spec", "service")
}

// service adds an edge to a Service that a reference names, if it is of the bundle.
func (g *graph) service(from int, why string, reference any) {
	fields, _ := reference.(map[string]any)
	id := ID{Kind: "Service", Namespace: Object(fields).Text("namespace"), Name: Object(fields).Text("name")}
	if to, there := g.places[id]; there {
		g.edge(from, to, why)
	}
}

func list(at any) []any {
	all, _ := at.([]any)
	return all
}

// elements are the objects of a list.
func elements(at any) []Object {
	var all []Object
	for _, e := range list(at) {
		fields, _ := e.(map[string]any)
		all = append(all, fields)
	}
	return all
}

// settle moves each item to the phase of its latest dependency, if that is later, and finds its depth there. The
// error names each cycle.
func (g *graph) settle() error {
	byID := map[ID]int{}
	for i, item := range g.items {
		byID[item.ID] = i
	}
	s := settling{graph: g, byID: byID, state: make([]int, len(g.items))}
	for i := range g.items {
		s.visit(i)
	}
	return errors.Join(s.cycles...)
}

// settling is a walk along the edges: each item is new, on the way, or settled.
type settling struct {
	*graph
	byID   map[ID]int
	state  []int
	way    []int
	cycles []error
}

const (
	onTheWay = 1
	settled  = 2
)

func (s *settling) visit(i int) {
	s.state[i] = onTheWay
	s.way = append(s.way, i)
	item := &s.items[i]
	slices.SortFunc(item.After, func(a, b Edge) int { return a.To.Compare(b.To) })
	for _, e := range item.After {
		to := s.byID[e.To]
		switch s.state[to] {
		case onTheWay:
			if len(s.cycles) < mostFaults {
				s.cycles = append(s.cycles, s.cycle(to))
			}
			continue
		case 0:
			s.visit(to)
		}
		target := s.items[to]
		phase := target.Phase
		if e.Serving { // no Service answers while the workloads wait for this very phase
			phase = max(phase, Workloads)
		}
		if phase > item.Phase {
			item.Phase, item.Depth = phase, 0
		}
		if target.Phase == item.Phase {
			item.Depth = max(item.Depth, target.Depth+1)
		}
	}
	s.state[i] = settled
	s.way = s.way[:len(s.way)-1]
}

// cycle returns an error with the path of waits from an item back to itself.
func (s *settling) cycle(from int) error {
	var names []string
	edges := "annotation " + AfterKey
	for _, i := range append(s.way[slices.Index(s.way, from):], from) {
		names = append(names, s.items[i].Origin.String())
		if slices.ContainsFunc(s.items[i].After, func(e Edge) bool { return e.Why == isCanary }) {
			edges = "annotation " + AfterKey + ", or spec.canaries"
		}
	}
	return fmt.Errorf("these objects wait for each other: %s: remove one of the edges (%s)", strings.Join(names, " → "), edges)
}
