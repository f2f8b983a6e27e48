package bundle

import (
	"cmp"
	"slices"
)

// FinalJobs returns the Jobs that an uninstallation runs before it deletes anything (CONTENT.md X2), in their order:
// those of a record that have not completed, but for those that skip names.
func FinalJobs(r Record, skip []Target) []Entry {
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

// NewFinal returns the plan that runs some Jobs of a plan; they wait for each other and for nothing else.
func NewFinal(p Plan, jobs []Entry) Plan {
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

// finally returns the actions of an uninstallation that run Jobs.
func finally(in Intent) (actions []Action) {
	for _, e := range FinalJobs(in.Record, in.Skip) {
		if situation, _ := in.Live[e.ID].Situation(in.Owner); situation == Absent && in.Uninstall {
			actions = append(actions, Action{Verb: Run, ID: e.ID, Phase: e.Phase, Depth: e.Depth, Why: "before anything is deleted"})
		}
	}
	return actions
}
