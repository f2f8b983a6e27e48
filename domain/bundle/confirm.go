package bundle

import (
	"fmt"
	"slices"
	"strings"
)

// Confirm approves a plan and the end of those held objects that are named, each as
// Kind/name or Kind.group/namespace/name. The error names what is not held, or is more
// than one object.
func (p Plan) Confirm(names ...string) (Approval, error) {
	a := Approval{PlanDigest: p.Digest}
	held := p.held()
	for _, name := range names {
		target, err := parseTarget(name)
		if err != nil {
			return a, fmt.Errorf("cannot confirm: %w", err)
		}
		fits := slices.DeleteFunc(slices.Clone(held), func(id ID) bool { return !target.names(id) })
		if len(fits) != 1 {
			return a, fmt.Errorf("cannot confirm %q: it matches %d of the held objects: write one of %s", name, len(fits),
				strings.Join(targets(held), ", "))
		}
		a.Confirmed = append(a.Confirmed, fits...)
	}
	return a, nil
}

// conflictsFlag is how a policy is chosen on a command line (Conflict.Words).
const conflictsFlag = "--conflicts "

// Blocked returns a RefusedError if an object of another owner is in the way of a plan: then no approval helps. It
// names the flag that does.
func (p Plan) Blocked() error {
	if len(p.Conflicts) == 0 {
		return nil
	}
	return p.conflicted(conflictsFlag)
}

// Confirmed returns nil if the plan may be carried out with what a person confirms on a
// command line, and else a RefusedError that names all flags that it needs.
func (p Plan) Confirmed(by Approval) error {
	if err := p.Blocked(); err != nil {
		return err
	}
	if h, held := p.unconfirmed(by); held {
		flags := strings.Join(Hold{Objects: p.held()}.Flags(), " ")
		return &RefusedError{h.Reason, fmt.Sprintf("cannot carry out the plan: %s. To confirm, add: %s", h.Words(), flags)}
	}
	return nil
}

// Flags are the arguments of a command line that confirm what is held.
func (h Hold) Flags() []string {
	var all []string
	for _, name := range targets(h.Objects) {
		all = append(all, "--confirm "+name)
	}
	return all
}

// names reports whether the target is the object, whatever its namespace where none is written.
func (t Target) names(id ID) bool {
	return t.Kind == id.Kind && t.Name == id.Name && (!t.Grouped || t.Group == id.Group) && (t.Namespace == "" || t.Namespace == id.Namespace)
}

// held are all objects of the plan's holds, each once.
func (p Plan) held() []ID {
	var all []ID
	for _, h := range p.Holds {
		for _, id := range h.Objects {
			if !slices.Contains(all, id) {
				all = append(all, id)
			}
		}
	}
	return all
}

func targets(ids []ID) []string {
	if len(ids) == 0 {
		return []string{"nothing: no object is held"}
	}
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = id.target()
	}
	return all
}

// ParseConflictPolicy reads a policy's name; empty is Prevent.
func ParseConflictPolicy(text string) (ConflictPolicy, error) {
	if text == "" {
		return Prevent, nil
	}
	_, err := word(text, []string{string(Prevent), string(AdoptUnowned), string(TakeAll)})
	return ConflictPolicy(text), err
}

// HeldNames are the objects whose end must be confirmed, as Confirm reads them.
func (p Plan) HeldNames() []string {
	var all []string
	for _, id := range p.held() {
		all = append(all, id.target())
	}
	return all
}
