package secret

import (
	"slices"
	"time"
)

// Deliver returns the secret after a write that Apply has admitted before. What it refers to may have ended since: a
// revision that has gone is removed, one whose time has passed has ended, and so has a secret whose other revisions have
// gone, unless a later write of the same transaction gives it a new one.
func Deliver(s Secret, w Write, u Unit, now time.Time) (Secret, error) {
	has := func(r Revision) bool { return r.Number == w.Revision }
	if !w.Expires.IsZero() && !w.Expires.After(now) {
		now = w.Expires.Add(-1)
	}
	switch {
	case w.Kind == Add:
	case s.Ended():
		return delivered(s.clone(), w, now)
	case w.Kind == Remove && w.Revision > 0 && !slices.ContainsFunc(s.Revisions, has):
		return s, nil
	}
	return Apply(s, w, u, now)
}

// delivered returns a secret that has no revision now after an admitted write.
func delivered(s Secret, w Write, now time.Time) (after Secret, err error) {
	switch w.Kind {
	case Set:
		if (w.Place == Place{}) {
			w.Expires = time.Time{} // of the revision that has gone
		}
		err = s.set(w, now)
	case Grant:
		err = s.grant(w.Access)
	case Revoke:
		s.revoke(w.Access)
	case Add, Remove:
	}
	return s, err
}
