package bundle

import (
	"fmt"
	"slices"
	"strings"
)

// Use is an object of another party that needs an object which is deleted.
type Use struct {
	Name string
	// Owned reports that it goes with its owner.
	Owned bool
	// Delete has the commands that delete it, a line each, if it stays and could not be deleted afterwards; empty if
	// it is lost with the object that it needs.
	Delete string
}

// Unused returns a RefusedError if the plan deletes a definition while others have objects of its kind, or
// the controller that ends their objects: the objects could not end afterwards (BUNDLES.md 7).
func (p Plan) Unused(live map[ID]Live) error {
	var all []string
	for _, a := range p.Actions {
		used := slices.DeleteFunc(slices.Clone(live[a.ID].Used), func(u Use) bool { return u.Owned })
		if a.Verb == Delete && len(used) > 0 {
			all = append(all, refusal(a.ID, used))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return &RefusedError{InUse, strings.Join(all, "\n")}
}

// refusal returns why an object is not deleted while others need it, and the commands that delete those.
func refusal(id ID, used []Use) string {
	if used[0].Delete == "" {
		return fmt.Sprintf("cannot delete %s: objects of this kind still exist: %s: delete them while their operator is still running: "+
			"kubectl delete %s --all -A", id, useNames(used), id.Name)
	}
	lines := []string{fmt.Sprintf("cannot delete %s: without it these could never be deleted: %s: delete them while it is still running, "+
		"with the objects that they deployed; an object with annotation %s: %s stays:", id, useNames(used), PruneKey, PruneNever)}
	for _, u := range used {
		lines = append(lines, u.Delete)
	}
	return strings.Join(lines, "\n")
}

// useNames lists the first names of a list that may be very long.
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
