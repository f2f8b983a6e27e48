package bundle

import "strings"

// Change is one field that applying would change.
type Change struct {
	// Path leads there: names joined by dots, elements of lists as [key=value] or [index].
	Path string
	// Before and After are JSON; empty for nothing.
	Before, After string
	// Manager is who owns the field, where that is somebody else and differs.
	Manager string
	// Ours says that this deployment set the field before: it is put right, not taken.
	Ours bool
}

// contested reports whether a field is somebody's who did not get it from here.
func (c Change) contested() bool { return c.Manager != "" && !c.Ours && !c.label() }

// hidden stands for what nobody shall read.
const hidden = "(secret)"

// shown returns the changes of an object as they may be read: nothing that a Secret
// holds is among them, and no mark of Orcon's own (BUNDLES.md 10).
func shown(id ID, changes []Change) []Change {
	var all []Change
	for _, c := range changes {
		if c.mark() {
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
		if c.Manager != "" && (c.Ours || take || c.label()) {
			paths = append(paths, c.Path)
		}
	}
	return paths
}
