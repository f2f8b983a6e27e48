package bundle

import (
	"maps"
	"slices"
)

// mostMatched is how often a plan matches roles with selectors, which one author can make any number of (TRUST.md U6).
const mostMatched = 5_000_000

// gathered returns the rules of a role, with those of the bundle's roles that it gathers by labels, and that these gather.
// What others' roles add to selectors that are new is Unverified. known is false if it takes too long to find out.
func (g *granting) gathered(o Object) (all []Rule, known bool) {
	seen := map[ID]bool{o.ID(): true}
	for next := []Object{o}; len(next) > 0; next = next[1:] {
		all = append(all, rules(next[0])...)
		by := selectors(next[0])
		if len(by) == 0 {
			continue
		}
		all = append(all, rules(g.live[next[0].ID()].Object)...)
		if g.matched += len(by) * len(g.wanted); g.matched > mostMatched {
			return all, false
		}
		for _, id := range slices.SortedFunc(maps.Keys(g.wanted), ID.Compare) {
			if id.Kind == clusterRole && !seen[id] && selected(by, g.wanted[id]) {
				seen[id] = true
				next = append(next, g.wanted[id])
			}
		}
	}
	return all, true
}

// selectors are those of the labels by which a role has the rules of others.
func selectors(role Object) []Object {
	return elements(role.At("aggregationRule", "clusterRoleSelectors"))
}

// selected reports whether a role has the labels of one of some selectors.
func selected(by []Object, role Object) bool {
	return slices.ContainsFunc(by, func(selector Object) bool { return selects(selector, role.below("metadata", "labels")) })
}

// selects reports whether a selector fits labels. An empty one fits all.
func selects(selector Object, labels map[string]any) bool {
	for key, value := range selector.below("matchLabels") {
		if is, has := labels[key]; !has || is != value {
			return false
		}
	}
	return !slices.ContainsFunc(elements(selector["matchExpressions"]), func(e Object) bool { return !expressed(e, labels) })
}

// expressed reports whether an expression of a selector holds for labels.
func expressed(e Object, labels map[string]any) bool {
	_, has := labels[e.Text("key")]
	among := has && slices.Contains(texts(e["values"]), Object(labels).Text(e.Text("key")))
	switch e.Text("operator") {
	case "In":
		return among
	case "NotIn":
		return !among
	case "Exists":
		return has
	default: // DoesNotExist
		return !has
	}
}
