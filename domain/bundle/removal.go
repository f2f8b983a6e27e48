package bundle

import "slices"

// Removal lists the objects that an approved uninstallation deletes.
type Removal []ID

// NewRemoval returns the removal that a plan to uninstall describes.
func NewRemoval(p Plan) Removal {
	var r Removal
	for _, a := range p.Actions {
		if a.Verb == Delete {
			r = append(r, a.ID)
		}
	}
	return r
}

// Plan returns the plan for the rest of a removal: it deletes the listed objects that an inventory
// still has, and keeps all others.
func (r Removal) Plan(owner string, inventory []Entry) Plan {
	p := Plan{Owner: owner}
	for _, e := range inventory {
		verb := Keep
		if slices.Contains(r, e.ID) {
			verb = Delete
		}
		p.Actions = append(p.Actions, Action{ID: e.ID, Verb: verb})
	}
	return p
}
