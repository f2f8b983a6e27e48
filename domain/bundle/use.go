package bundle

import (
	"fmt"
	"slices"
	"strings"
)

// Use is an object that would be lost with another, and is of somebody else.
type Use struct {
	Name string
	// Owned says that it goes with what owns it.
	Owned bool
}

// Unused returns a RefusedError if the plan deletes definitions of which others have objects:
// what serves those, and lets them end, would go before the definition (BUNDLES.md 7).
func (p Plan) Unused(live map[ID]Live) error {
	var all []string
	for _, a := range p.Actions {
		used := slices.DeleteFunc(slices.Clone(live[a.ID].Used), func(u Use) bool { return u.Owned })
		if a.Verb == Delete && len(used) > 0 {
			all = append(all, fmt.Sprintf("cannot delete %s: objects of this kind still exist: %s: delete them while their operator is still "+
				"running: kubectl delete %s --all -A", a.ID, useNames(used), a.ID.Name))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return &RefusedError{InUse, strings.Join(all, "\n")}
}

// useNames lists the first of what may be very many.
func useNames(uses []Use) string {
	const few = 5
	var all []string
	for _, u := range uses[:min(few, len(uses))] {
		all = append(all, u.Name)
	}
	if len(uses) > few {
		all = append(all, fmt.Sprintf("and %d more", len(uses)-few))
	}
	return strings.Join(all, ", ")
}
