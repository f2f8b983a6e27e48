package bundle

import "strings"

// Change is one field that applying would change.
type Change struct {
	// Path leads there: names joined by dots, elements of lists as [key=value] or [index].
	Path string
	// Before and After are JSON; empty for nothing.
	Before, After string
	// Manager is another owner of the field; empty if it has none, or the same value.
	Manager string
	// Ours reports that this deployment set the field before: it is corrected, not taken.
	Ours bool
}

// contested reports whether a field belongs to another manager, and never belonged to Orcon.
func (c Change) contested() bool { return c.Manager != "" && !c.Ours && !c.label() }

// hidden takes the place of secret values.
const hidden = "(secret)"

// shown returns the changes of an object as they may be read, without values of Secrets and
// without Orcon's own marks (BUNDLES.md 10).
func shown(id ID, changes []Change) []Change {
	var all []Change
	for _, c := range changes {
		if c.mark() || c.clientSide() {
			continue
		}
		if id.kind() == "Secret" && c.Path != "type" && c.Path != "immutable" && !strings.HasPrefix(c.Path, "metadata.labels") {
			c.Before, c.After = hide(c.Before), hide(c.After)
		}
		all = append(all, c)
	}
	return all
}

func hide(value string) string {
	if value == "" {
		return ""
	}
	return hidden
}

// forced returns the paths that this deployment takes from others: those that were its own, its
// label, and where the plan takes the object those that it lists (BUNDLES.md 2).
func forced(changes []Change, take bool) []string {
	var paths []string
	for _, c := range changes {
		if c.Manager != "" && (c.Ours || take && !c.clientSide() || c.label()) {
			paths = append(paths, c.Path)
		}
	}
	return paths
}
