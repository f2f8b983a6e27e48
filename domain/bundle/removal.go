package bundle

import "slices"

// Removal lists the objects that an approved uninstallation deletes, with the Jobs that it runs before.
type Removal []ID

// NewRemoval returns the removal that a plan to uninstall describes.
func NewRemoval(p Plan) Removal {
	var r Removal
	for _, a := range p.Actions {
		if a.Verb == Delete || a.Verb == Run {
			r = append(r, a.ID)
		}
	}
	return r
}

// Digest identifies what a removal deletes.
func (r Removal) Digest() string {
	var texts []string
	for _, id := range r {
		texts = append(texts, id.canonical())
	}
	return digest(texts...)
}

// Plan returns the plan for the rest of a removal: it deletes the listed objects that the inventory of a
// record still has, gives adopted ones back, and keeps all others.
func (r Removal) Plan(owner string, record Record) Plan {
	p := Plan{Owner: owner}
	for _, e := range record.Inventory {
		verb := Keep
		switch {
		case record.Originals.of(e.ID) != nil:
			verb = GiveBack
		case slices.Contains(r, e.ID):
			verb = Delete
		}
		p.Actions = append(p.Actions, Action{ID: e.ID, Verb: verb, Original: record.Originals.of(e.ID).Digest()})
	}
	return p
}

// Orphan returns the plan that lets all objects of a record go on without their deployment.
func Orphan(owner string, record Record) Plan {
	p := Plan{Owner: owner}
	for _, e := range record.Inventory {
		p.Actions = append(p.Actions, Action{ID: e.ID, Verb: Release})
	}
	return p
}
