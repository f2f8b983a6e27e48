package bundle

import "strings"

// restarts reports whether an action gives pods another template, so that they start anew,
// and how many there are now.
func (a Action) restarts(l Live) (anew bool, pods int) {
	if a.ID.Group != "apps" || l.Object == nil {
		return false, 0
	}
	anew = a.Verb == Recreate
	for _, c := range a.Changes {
		if rest, found := strings.CutPrefix(c.Path, "spec.template"); found && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			anew = true
		}
	}
	if !anew || a.Verb != Recreate && l.Object.Text("spec", "updateStrategy", "type") == "OnDelete" {
		return false, 0
	}
	for _, field := range []string{"replicas", "currentNumberScheduled"} {
		switch n := l.Object.At("status", field).(type) {
		case int64:
			pods += int(n)
		case float64:
			pods += int(n)
		}
	}
	return true, pods
}
