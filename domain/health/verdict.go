package health

import (
	"slices"
	"strings"
)

// State is one word about an object.
type State string

// The states.
const (
	Ready      State = "Ready"
	InProgress State = "InProgress"
	// Failing objects report a failure. They may recover, unless the verdict is terminal.
	Failing State = "Failing"
	// Suspended objects do nothing on purpose.
	Suspended State = "Suspended"
	// Unknown objects report nothing that the rules understand.
	Unknown State = "Unknown"
)

// Class is the direction in which a piece of evidence points.
type Class string

// The classes. All but Positive keep an object from being ready.
const (
	Positive Class = "positive"
	Negative Class = "negative"
	Failure  Class = "failure"
	Pause    Class = "suspended"
)

// Evidence is one value that a rule has considered.
type Evidence struct {
	// Path leads to the value, such as status.conditions[Ready].
	Path  string
	Value string
	Class Class
	// Says puts it into words that follow the object's name.
	Says string
	// summary marks conditions that sum an object up.
	summary bool
	// partial marks conditions that count only where nothing else speaks for the object.
	partial bool
}

// Verdict is the judgement of one object.
type Verdict struct {
	State State
	// Says explains why the object is not ready; empty where it is.
	Says string
	// Rule names the rule that decided.
	Rule string
	// Terminal reports a failure that does not pass by itself.
	Terminal bool
	// Silent reports that nothing speaks against the object: its health may be assumed when time is up.
	Silent   bool
	Evidence []Evidence
}

// Intended reports whether the object's own spec asks for its suspension, so that nothing follows.
func (v Verdict) Intended() bool {
	return v.State == Suspended && slices.ContainsFunc(v.Evidence, func(e Evidence) bool {
		return e.Class == Pause && strings.HasPrefix(e.Path, "spec.")
	})
}
