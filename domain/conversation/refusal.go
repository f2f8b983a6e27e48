package conversation

import (
	"errors"
	"time"
)

// Refusal is why something is refused, so that a program can tell what to do
// about it (RELATIONS.md P4).
type Refusal string

// The refusals: a relation exists but has no data, so try again later; it has ended, so never; this unit may not do
// it, but another may; no unit may.
const (
	NotYet    Refusal = "not-yet"
	Gone      Refusal = "gone"
	Forbidden Refusal = "forbidden"
	Invalid   Refusal = "invalid"
)

// Error is a refused read or write.
type Error struct {
	Kind Refusal
	// Message says what is refused and why.
	Message string
	// Cure says what to do, or who may.
	Cure string
	// Wait is how long to wait before the next attempt; 0 for a refusal that no wait ends.
	Wait time.Duration
}

// Error returns the message and the cure as one sentence.
func (e *Error) Error() string { return e.Message + "; " + e.Cure }

// Is reports whether the target is an Error of the same kind.
func (e *Error) Is(target error) bool {
	other, ok := errors.AsType[*Error](target)
	return ok && other.Kind == e.Kind
}

// RefusalOf returns the kind of an error, or nothing for another error.
func RefusalOf(err error) Refusal {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}

// DelayOf returns how long to wait before the next attempt; 0 for an error that no wait ends.
func DelayOf(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Wait
	}
	return 0
}

// Unanswered reports whether an error leaves a question open: it does not refuse, or a wait ends its refusal.
func Unanswered(err error) bool {
	return err != nil && (RefusalOf(err) == "" || DelayOf(err) > 0)
}
