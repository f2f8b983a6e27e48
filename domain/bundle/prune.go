package bundle

import (
	"fmt"
)

// Pruned reports what was decided about objects that left the bundle, and what they wait for.
type Pruned struct {
	// Delete is to be deleted now.
	Delete []Deletion
	// Waits lists the objects that are not deleted yet, or will not be, and why.
	Waits []Wait
	// Gone is to be forgotten (Record.Drop).
	Gone []ID
}

// Done reports whether nothing is left to do or to wait for.
func (p Pruned) Done() bool { return len(p.Delete) == 0 && len(p.Waits) == 0 && len(p.Gone) == 0 }

// Prune returns the objects to delete now of those that the plan deletes, after its revision has succeeded, or at
// once if everything is uninstalled: in reverse order, each phase when the later ones are gone, definitions last. It
// waits for finalizers and never removes them. An object that could not be deleted stays in the inventory and is
// tried again (BUNDLES.md 3 and 7).
func Prune(p Plan, r Record, live map[ID]Live) Pruned {
	planned := map[ID]Action{}
	for _, a := range p.Actions {
		planned[a.ID] = a
	}
	var out Pruned
	var before *Entry
	for _, e := range left(r.Inventory, p.Sequence) {
		l := live[e.ID]
		situation, _ := l.Situation(p.Owner)
		switch {
		case situation != Ours || planned[e.ID].Verb == Keep:
			out.Gone = append(out.Gone, e.ID)
			continue
		case planned[e.ID].Verb == Release && !l.leaving():
			out.delete(e, l, &Original{ID: e.ID})
			continue
		case !planned[e.ID].ends(r.Originals.of(e.ID)):
			continue // it is not approved: the next plan reports it
		case before != nil && (before.turn() != e.turn() || before.Depth != e.Depth):
			out.wait(e, "waits for the deletion of "+before.ID.String())
			continue
		}
		out.remove(e, l, r.Originals.of(e.ID))
		before = &e
	}
	return out
}

// ends reports whether the action deletes an object that the deployment made, or gives one back that has
// this original.
func (a Action) ends(o *Original) bool {
	return a.Verb == Delete && o == nil || a.Verb == GiveBack && o != nil && a.Original == o.Digest()
}

// remove deletes one object or gives it back, or says why not.
func (p *Pruned) remove(e Entry, l Live, original *Original) {
	switch {
	case l.leaving():
		p.wait(e, l.ending())
	case original != nil:
		p.delete(e, l, original)
	case len(l.Used) > 0 && l.Used[0].Delete != "":
		p.wait(e, fmt.Sprintf("is kept: without it %s could never be deleted: delete those first: %s", useNames(l.Used), l.Used[0].Delete))
	case len(l.Used) > 0:
		p.wait(e, fmt.Sprintf("is kept: deleting it would also delete %s, which other programs made: delete those first", useNames(l.Used)))
	default:
		p.delete(e, l, nil)
	}
}

func (p *Pruned) delete(e Entry, l Live, original *Original) {
	if l.Says != "" {
		p.Waits = append(p.Waits, Wait{ID: e.ID, Phase: e.Phase, For: l.Says, Log: l.Log, Since: l.Since})
	}
	d := deletion(e.ID, l)
	d.Original = original
	p.Delete = append(p.Delete, d)
}

func (p *Pruned) wait(e Entry, why string) {
	p.Waits = append(p.Waits, Wait{ID: e.ID, Phase: e.Phase, For: why})
}
