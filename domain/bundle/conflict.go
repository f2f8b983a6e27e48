package bundle

import (
	"fmt"
	"slices"
	"strings"
)

// ConflictPolicy says what becomes of objects that somebody else has made.
type ConflictPolicy string

// The policies.
const (
	// Prevent changes nothing of what is not ours; the default.
	Prevent ConflictPolicy = "Prevent"
	// AdoptUnowned also adopts what nobody claims, where no manager's field differs.
	AdoptUnowned ConflictPolicy = "AdoptUnowned"
	// TakeAll takes what the plan lists, fields too.
	TakeAll ConflictPolicy = "Take"
)

// Conflict is an object, or fields of it, that somebody else keeps.
type Conflict struct {
	ID ID
	// Holder is whose the object is; empty where it is about fields.
	Holder string
	// Fields are what others manage otherwise, as path (manager).
	Fields []string
	// Cure is the policy with which it is none. Empty: the object could not become what the
	// bundle says, whoever had it.
	Cure ConflictPolicy
}

// String says what is wrong and what to do, in words for an object of the cluster.
func (c Conflict) String() string { return c.Words("conflicts: ") }

// Words says what is wrong and what to do; setting is what stands before a policy where that
// is chosen.
func (c Conflict) Words(setting string) string {
	switch {
	case len(c.Fields) > 0:
		return fmt.Sprintf("%s has fields that others manage: %s: leave them out of the bundle, or take them (%s%s)", c.ID, strings.Join(c.Fields, ", "), setting, c.Cure)
	case c.Cure == "":
		return fmt.Sprintf("%s is there already, is of %s, and cannot be changed: remove it, or name it otherwise", c.ID, c.Holder)
	}
	return fmt.Sprintf("%s is there already and is of %s: remove it, name it otherwise, or make it part of this deployment (%s%s)", c.ID, c.Holder, setting, c.Cure)
}

// contest notes that others manage fields of an object otherwise.
func (d *drafting) contest(id ID, contested []Change) {
	c := Conflict{ID: id, Cure: TakeAll}
	for _, change := range contested {
		c.Fields = append(c.Fields, fmt.Sprintf("%s (%s)", change.Path, change.Manager))
	}
	d.plan.Conflicts = append(d.plan.Conflicts, c)
}

// claim says what becomes of what somebody else has made (BUNDLES.md 5).
func (d *drafting) claim(a Action, item Item, l Live, situation Situation, holder string) Action {
	a.Why = "it is of " + holder
	fixed := l.Immutable != "" || item.job()
	switch {
	case !fixed && situation == Unowned && d.policy != Prevent:
		a.Verb = Adopt
	case !fixed && d.policy == TakeAll:
		a.Verb = Take
	default:
		a.Verb = None
		d.plan.Conflicts = append(d.plan.Conflicts, Conflict{ID: item.ID, Holder: holder, Cure: cure(l, situation, fixed)})
		return a
	}
	return d.fields(a, l)
}

// cure is the policy with which an object of somebody else becomes part of the deployment:
// what nobody claims needs more than to be adopted where a manager's field differs.
func cure(l Live, situation Situation, fixed bool) ConflictPolicy {
	switch {
	case fixed:
		return ""
	case situation == Unowned && !slices.ContainsFunc(l.Changes, Change.contested):
		return AdoptUnowned
	}
	return TakeAll
}
