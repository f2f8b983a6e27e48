package bundle

import (
	"fmt"
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
	ID        ID
	Situation Situation
	// Holder is whose the object is; empty where it is about fields.
	Holder string
	// Fields are what others manage otherwise, as path (manager).
	Fields []string
	// Immutable says that it could not become what the bundle says, whoever had it.
	Immutable bool
}

// String says what is wrong and what to do.
func (c Conflict) String() string {
	if len(c.Fields) > 0 {
		return fmt.Sprintf("%s has fields that others manage: %s: leave them out of the bundle, or take them (conflicts: %s)", c.ID, strings.Join(c.Fields, ", "), TakeAll)
	}
	if c.Immutable {
		return fmt.Sprintf("%s is there already, is of %s, and cannot be changed: remove it, or name it otherwise", c.ID, c.Holder)
	}
	cure := TakeAll
	if c.Situation == Unowned {
		cure = AdoptUnowned
	}
	return fmt.Sprintf("%s is there already and is of %s: remove it, name it otherwise, or make it part of this deployment (conflicts: %s)", c.ID, c.Holder, cure)
}

// contest notes that others manage fields of an object otherwise.
func (d *drafting) contest(id ID, situation Situation, contested []Change) {
	c := Conflict{ID: id, Situation: situation}
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
		d.plan.Conflicts = append(d.plan.Conflicts, Conflict{ID: item.ID, Situation: situation, Holder: holder, Immutable: fixed})
		return a
	}
	return d.fields(a, l, situation)
}
