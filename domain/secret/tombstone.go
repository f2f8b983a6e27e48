package secret

import "time"

// late is longer than any process takes to store a secret that it found missing: its writes have a deadline of seconds.
const late = 10 * time.Minute

// Removed returns a secret after its owner has removed it: a tombstone, so that a process that is late with the
// transaction that made the secret does not make it again (TRUST.md T10). One that is too old for that has ended.
func Removed(s Secret, now time.Time) Secret {
	left := Secret{ID: s.ID, Made: s.Made, Owner: s.Owner, Latest: s.Latest}
	if s.Made.IsZero() || now.Sub(s.Made) <= late {
		left.Removed = now
	}
	return left
}

// IsTombstone reports whether the secret was removed, and only its ID is kept.
func IsTombstone(s Secret) bool { return !s.Removed.IsZero() }

// weathered reports whether no process can be late any more, so that a tombstone has done its work.
func weathered(s Secret, now time.Time) bool { return IsTombstone(s) && now.Sub(s.Removed) > late }
