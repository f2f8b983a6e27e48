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
}

// String says what is wrong and what to do.
func (c Conflict) String() string {
	if len(c.Fields) > 0 {
		return fmt.Sprintf("%s has fields that others manage: %s: leave them out of the bundle, or take them (conflicts: %s)", c.ID, strings.Join(c.Fields, ", "), TakeAll)
	}
	cure := TakeAll
	if c.Situation == Unowned {
		cure = AdoptUnowned
	}
	return fmt.Sprintf("%s is there already and is of %s: remove it, name it otherwise, or make it part of this deployment (conflicts: %s)", c.ID, c.Holder, cure)
}

func (d *drafting) conflict(id ID, situation Situation, holder string, contested []Change) {
	c := Conflict{ID: id, Situation: situation, Holder: holder}
	for _, change := range contested {
		c.Fields = append(c.Fields, fmt.Sprintf("%s (%s)", change.Path, change.Manager))
	}
	d.plan.Conflicts = append(d.plan.Conflicts, c)
}

// claim says what becomes of what somebody else has made (BUNDLES.md 5).
func (d *drafting) claim(a Action, item Item, l Live, situation Situation, holder string) Action {
	switch {
	case l.Immutable != "" || item.job():
		d.conflict(item.ID, situation, holder, nil)
	case d.policy == TakeAll && situation == Unowned, d.policy == AdoptUnowned && situation == Unowned:
		a.Verb = Adopt
	case d.policy == TakeAll:
		a.Verb = Take
	default:
		d.conflict(item.ID, situation, holder, nil)
	}
	if a.Verb == "" {
		a.Verb, a.Why = None, "it is of "+holder
		return a
	}
	a.Why = "it is of " + holder
	return d.fields(a, l, situation)
}
