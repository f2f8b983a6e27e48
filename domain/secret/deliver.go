package secret

import (
	"slices"
	"time"
)

// Deliver returns the secret after a write that Apply has admitted before. What it refers to may have ended since: a
// revision that has gone is removed, one whose time has passed has ended, and so has a secret whose other revisions have
// gone, unless it gets a new one.
func Deliver(s Secret, w Write, u Unit, now time.Time) (Secret, error) {
	has := func(r Revision) bool { return r.Number == w.Revision }
	if !w.Expires.IsZero() && !w.Expires.After(now) {
		now = w.Expires.Add(-1)
	}
	switch {
	case w.Kind == Add:
	case s.Ended() && w.Place != Place{}:
		after := s.clone()
		return after, after.set(w, now)
	case s.Ended(), w.Kind == Remove && w.Revision > 0 && !slices.ContainsFunc(s.Revisions, has):
		return s, nil
	}
	return Apply(s, w, u, now)
}
