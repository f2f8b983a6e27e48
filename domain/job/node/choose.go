package node

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Selection names the node of a run: one by its name, or one of those that have all labels.
type Selection struct {
	Name   string            `json:"name,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
}

// String describes the target.
func (t Selection) String() string {
	if t.Name != "" {
		return "RunNode " + t.Name
	}
	var all []string
	for _, key := range slices.Sorted(maps.Keys(t.Labels)) {
		all = append(all, key+"="+t.Labels[key])
	}
	return "a RunNode with labels " + strings.Join(all, ",")
}

// names reports whether the target is the node, or one of several.
func (t Selection) names(n Node) bool {
	if t.Name != "" {
		return t.Name == n.Name
	}
	for key, value := range t.Labels {
		if got, has := n.Labels[key]; !has || got != value {
			return false
		}
	}
	return len(t.Labels) > 0
}

// Demand holds the needs of an attempt.
type Demand struct {
	Target              Selection
	Namespace, Contract string
}

// Choose returns the node to which an attempt is offered: the one with the most room, the first by name of several. used
// counts the attempts of each node. The error names each node that the target means, and why it cannot be.
func Choose(d Demand, nodes []Node, used map[string]int, now time.Time) (string, error) {
	best, room := "", 0
	var refused []error
	for _, n := range slices.SortedFunc(slices.Values(nodes), func(a, b Node) int { return strings.Compare(a.Name, b.Name) }) {
		if !d.Target.names(n) {
			continue
		}
		if err := n.fits(d, used[n.Name], now); err != nil {
			refused = append(refused, err)
			continue
		}
		if free := n.Capacity - used[n.Name]; free > room {
			best, room = n.Name, free
		}
	}
	switch {
	case best != "":
		return best, nil
	case len(refused) == 0:
		return "", fmt.Errorf("there is no %s: correct spec.target of the JobWorkspace, or create and join it",
			strings.TrimPrefix(d.Target.String(), "a "))
	}
	return "", fmt.Errorf("%s cannot take the run: %w", d.Target, errors.Join(refused...))
}

// fits returns why a node cannot take a further attempt.
func (n Node) fits(d Demand, used int, now time.Time) error {
	s := n.standing(now)
	switch {
	case s.Phase != Ready:
		return fmt.Errorf("%s: %s", n.Name, s.Message)
	case !slices.Contains(n.Namespaces, d.Namespace):
		return fmt.Errorf("%s does not permit namespace %s: add it to its spec.namespaces", n.Name, d.Namespace)
	case n.Contract != d.Contract:
		return fmt.Errorf("%s has contract %q of the runner, and the template needs %q: update its agent", n.Name, n.Contract, d.Contract)
	case used >= n.Capacity:
		return fmt.Errorf("%s has no room: its spec.capacity is %d, and it carries out %d", n.Name, n.Capacity, used)
	}
	return nil
}
