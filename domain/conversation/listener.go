package conversation

import "slices"

// Listener is a unit as the other application's departures concern it: what it
// was told of the relation, and whether it has a handler. The unit of a
// StatefulSet is one as long as its memory is kept, also without a pod.
type Listener struct {
	Unit    Unit
	Handler bool
	Told    Told
}

// Owed reports whether a departure is still owed to an application, of whose units
// these are left: until all that knew the departed one, and at least one with a
// handler, have handled it. If no such unit is left, the leader inherits it
// (SAFETY.md E15).
func (t Tombstone) Owed(left []Listener) (owed, inherited bool) {
	handled := false
	for _, l := range left {
		if _, knows := l.Told.Members[t.Unit]; knows {
			return true, false
		}
		handled = handled || l.Handler && slices.Contains(l.Told.Departed, t.Unit)
	}
	return !handled, !handled
}
