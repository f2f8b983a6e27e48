package bundle

import (
	"path"
	"slices"
)

// isCanary is why workloads wait for a canary.
const isCanary = "it is a canary"

// precede has each workload wait for the canaries, so that a bad change stops at these. A canary waits for no other one.
func (g *graph) precede(canaries []string) {
	if len(canaries) == 0 {
		return
	}
	var first, rest []int
	for i, item := range g.items {
		switch {
		case !slices.Contains(workloads, item.ID.kind()):
		case item.canary(canaries):
			first = append(first, i)
		default:
			rest = append(rest, i)
		}
	}
	for _, from := range rest {
		for _, to := range first {
			if g.vast() {
				return
			}
			g.edge(from, to, isCanary)
		}
	}
}

// canary reports whether one of the patterns matches the name of the item. A pattern that is none matches nothing.
func (i Item) canary(patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		matches, err := path.Match(pattern, i.ID.Name)
		return err == nil && matches
	})
}
