package health

import (
	"cmp"
	"slices"
	"time"
)

// Presence is whether something is there.
type Presence int

// The presences.
const (
	Unsure Presence = iota
	Present
	Absent
)

// Opinion is the answer of a probe. Ignores names conditions and paths that do not count against it.
type Opinion struct {
	State State
	// Says explains the state in the probe's words; without any, evidence explains it, and Otherwise where there is none.
	Says, Otherwise string
	Rule            string
	Terminal        bool
	Ignores         []string
	// Statusless reports that no status of the object is to be expected.
	Statusless bool
}

// Finder judges objects of one kind by expressions; known is false for an object of another.
type Finder func(o map[string]any) (opinion Opinion, known bool)

// Knowledge has facts about an object that it does not show itself.
type Knowledge struct {
	// Status is whether the object's definition has a status.
	Status Presence
	// User is a probe of the deployment, Library one of Orcon; nil for none.
	User, Library Finder
}

// Judge returns the verdict about an object, whose numbers are int64 or float64. It never fails, so
// that an odd status stops no other object (CONTENT.md H1).
//
// The user's probe comes first, then Orcon's, the rule of a built-in kind, and the generic rule; but
// none of them calls an object ready that is deleted, or whose status is missing or old.
func Judge(o map[string]any, k Knowledge, now time.Time) Verdict {
	it := subject{fields: o}
	evidence := it.evidence()
	v := decide(it, evidence, k, now)
	v.Evidence = append(v.Evidence, evidence...)
	return v
}

func decide(o subject, evidence []Evidence, k Knowledge, now time.Time) Verdict {
	user, hasUser := ask(k.User, o)
	library, hasLibrary := ask(k.Library, o)
	if v, guarded := o.guard(k.Status, hasLibrary && library.Statusless, now); guarded {
		return v
	}
	if hasUser {
		return Verdict{State: user.State, Says: user.Says, Rule: user.Rule, Terminal: user.Terminal}
	}
	if says := odd(o); says != "" {
		return Verdict{State: InProgress, Says: says, Rule: "a status that cannot be read"}
	}
	if hasLibrary {
		return library.weigh(evidence)
	}
	if v, builtin := builtinVerdict(o, evidence); builtin {
		return v
	}
	if o.status() == nil {
		return Verdict{State: Ready, Rule: "a kind without a status"}
	}
	return generic(evidence)
}

func ask(p Finder, o subject) (Opinion, bool) {
	if p == nil {
		return Opinion{}, false
	}
	return p(o.fields)
}

// weigh returns the verdict of a probe of Orcon: a failure, or a condition that sums the object up and
// is not true, counts more than the probe's Ready, unless the probe ignores it (CONTENT.md H4).
func (p Opinion) weigh(evidence []Evidence) Verdict {
	against := slices.DeleteFunc(slices.Clone(evidence), func(e Evidence) bool {
		counts := e.Class == Failure || e.summary && e.Class != Positive
		return !counts || slices.ContainsFunc(p.Ignores, e.named)
	})
	if v := generic(against); p.State == Ready && len(against) > 0 {
		return v
	}
	e, _ := first(evidence, classes[p.State])
	return Verdict{State: p.State, Says: cmp.Or(p.Says, e.Says, p.Otherwise), Rule: p.Rule, Terminal: p.Terminal}
}

// classes maps a state to the class of the evidence that explains it.
//
//nolint:gochecknoglobals // a table
var classes = map[State]Class{Failing: Failure, Suspended: Pause, InProgress: Negative}

// named reports whether a name is that of the evidence: its path, or its condition's type.
func (e Evidence) named(name string) bool {
	return e.Path == name || e.Path == "status.conditions["+name+"]"
}
