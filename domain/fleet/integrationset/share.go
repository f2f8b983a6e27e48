package integrationset

import (
	"fmt"
	"slices"
)

// share uses a member of another set, and reports whether it is as this set wants it. Two sets share what a namespace
// shares; a member for an integration belongs to one (FLEET-DESIGN.md 1, 18).
func (d *decider) share(w Wanted, m Standing) bool {
	if !m.Claimed {
		d.step(Claim, w.Key)
	}
	switch {
	case w.Integration != "":
		d.need(w.Key, fmt.Sprintf("IntegrationSet %s has this member: have only one of the two sets select it", m.Set))
	case w.Digest != m.Digest:
		d.need(w.Key, fmt.Sprintf("IntegrationSet %s makes it otherwise: give both sets the same chart, account and conflicts, or set "+
			"spec.chart.values.excludeService: true in one", m.Set))
	default:
		return m.Claimed && m.State == Ready
	}
	return false
}

// contested notes the members for an integration that another set wants too.
func (d *decider) contested() {
	for _, m := range slices.SortedFunc(slices.Values(d.Standing), func(a, b Standing) int { return a.Compare(b.Key) }) {
		if _, stays := d.wanted[m.Key]; stays && m.Set == "" && m.Integration != "" && len(m.Claims) > 0 {
			d.need(m.Key, fmt.Sprintf("IntegrationSet %s wants this member too: have only one of the two sets select it", m.Claims[0]))
		}
	}
}
