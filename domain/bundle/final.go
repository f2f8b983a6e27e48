package bundle

import (
	"cmp"
	"slices"
)

// Final returns the Jobs that an uninstallation runs before it deletes anything (CONTENT.md X2), in their order: those
// that have not completed, but for those that skip names.
func (r Record) Final(skip []Target) []Entry {
	var all []Entry
	for _, e := range r.Inventory {
		skipped := slices.ContainsFunc(skip, func(t Target) bool { return t.Names(e.Origin) })
		if e.Final && !skipped && !slices.Contains(r.Completed, e.ID) {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Depth, b.Depth), a.ID.Compare(b.ID))
	})
	return all
}

// Final returns the plan that runs these Jobs of a plan; they wait for each other and for nothing else.
func (p Plan) Final(jobs []Entry) Plan {
	chosen := map[ID]bool{}
	for _, e := range jobs {
		chosen[e.ID] = true
	}
	final := Plan{Owner: p.Owner}
	for _, item := range p.Sequence {
		if !chosen[item.ID] {
			continue
		}
		item.Kept = false
		item.After = slices.DeleteFunc(slices.Clone(item.After), func(e Edge) bool { return !chosen[e.To] })
		final.Sequence = append(final.Sequence, item)
		final.Actions = append(final.Actions, Action{Verb: Run, ID: item.ID, Phase: item.Phase, Depth: item.Depth})
	}
	return final
}

// final adds the Jobs that run before an uninstallation deletes anything, before all else.
func (d *drafting) final() {
	if !d.Uninstall {
		return
	}
	for _, e := range d.Record.Final(d.Skip) {
		if situation, _ := d.Live[e.ID].Situation(d.Owner); situation == Absent {
			d.plan.Actions = append(d.plan.Actions, Action{Verb: Run, ID: e.ID, Phase: e.Phase, Depth: e.Depth, Why: "before anything is deleted"})
		}
	}
}
