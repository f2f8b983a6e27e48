package bundle

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// ConflictPolicy decides what happens to objects that something else has made.
type ConflictPolicy string

// The policies.
const (
	// Prevent never changes objects of others; the default.
	Prevent ConflictPolicy = "Prevent"
	// AdoptUnowned also adopts objects that nothing else claims, if no manager's field differs.
	AdoptUnowned ConflictPolicy = "AdoptUnowned"
	// TakeAll takes over what the plan lists, fields too.
	TakeAll ConflictPolicy = "Take"
)

// Conflict is an object, or fields of it, that something else manages.
type Conflict struct {
	ID ID
	// Holder is the program that manages the object; empty if none does, or if it is about fields.
	Holder string
	// Fields lists the fields that others manage with other values, as path (manager).
	Fields []string
	// Cure is the policy that resolves the conflict. Empty: the object could not become as the bundle has it, under
	// any owner.
	Cure ConflictPolicy
	// Active is when the holder wrote the object, if it still does; else zero.
	Active time.Time
}

// String describes the conflict and its cure, in the words of a BundleDeployment.
func (c Conflict) String() string { return c.Words("conflicts: ") }

// Words describes the conflict and its cure; setting is the flag or field that chooses a policy.
func (c Conflict) Words(setting string) string {
	switch {
	case !c.Active.IsZero():
		return c.active()
	case len(c.Fields) > 0:
		return fmt.Sprintf("%s has fields that others manage: %s: leave them out of the bundle, or take them over (%s%s)", c.ID,
			strings.Join(c.Fields, ", "), setting, c.Cure)
	case slices.Contains(costly, c.ID.kind()):
		return c.careful(setting)
	case c.Cure == "":
		return fmt.Sprintf("%s already exists, %s and cannot be changed in place: delete it, or rename it in the bundle", c.ID,
			managedBy(c.Holder))
	}
	return fmt.Sprintf("%s already exists and %s: delete it, rename it in the bundle, or make it part of this deployment (%s%s)", c.ID,
		managedBy(c.Holder), setting, c.Cure)
}

// careful describes a conflict about an object whose deletion takes data with it.
func (c Conflict) careful(setting string) string {
	if c.Cure == "" {
		return fmt.Sprintf("%s already exists, %s and cannot be changed in place: rename it in the bundle, or delete it with its data", c.ID,
			managedBy(c.Holder))
	}
	return fmt.Sprintf(
		"%s already exists and %s: make it part of this deployment (%s%s), or rename it in the bundle; deleting it deletes data",
		c.ID, managedBy(c.Holder), setting, c.Cure)
}

// contest notes that others manage fields of an object otherwise.
func (d *drafting) contest(id ID, contested []Change) {
	c := Conflict{ID: id, Cure: TakeAll}
	for _, change := range contested {
		c.Fields = append(c.Fields, fmt.Sprintf("%s (%s)", change.Path, change.Manager))
	}
	d.plan.Conflicts = append(d.plan.Conflicts, c)
}

// claim decides about an object that another owner has made (BUNDLES.md 5). What another deployment has taken is not taken
// from it on the way back.
func (d *drafting) claim(a Action, item Item, l Live, situation Situation, holder string) Action {
	a.Why = managedBy(holder)
	fixed := l.Immutable != "" || item.job()
	c := Conflict{ID: item.ID, Holder: holder, Cure: cure(l, situation, fixed)}
	if !fixed && d.policy == TakeAll {
		c.Active = l.busy(d.Owner, d.Now)
	}
	switch {
	case !fixed && situation == Unowned && d.policy != Prevent:
		a.Verb = Adopt
	case !fixed && d.policy == TakeAll && c.Active.IsZero() && (d.Back == 0 || situation != Another):
		a.Verb = Take
	default:
		a.Verb = None
		d.plan.Conflicts = append(d.plan.Conflicts, c)
		return a
	}
	a = d.fields(a, l)
	if a.ID.Group == "apps" && !a.Restarts {
		a.Why += "; pod template unchanged"
	}
	return a
}

// cure returns the policy by which an object of another owner becomes part of the deployment: one without an owner
// needs more than adoption where a manager's field differs.
func cure(l Live, situation Situation, fixed bool) ConflictPolicy {
	switch {
	case fixed:
		return ""
	case situation == Unowned && !slices.ContainsFunc(l.Changes, Change.contested):
		return AdoptUnowned
	}
	return TakeAll
}
