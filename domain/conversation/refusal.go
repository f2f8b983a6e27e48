package conversation

import "errors"

// Refusal is why something is refused, so that a program can tell what to do
// about it (RELATIONS.md P4).
type Refusal string

// The refusals: what is related but not there, so try again later; what ended, so
// never; what this unit may not do, but another may; what nobody may.
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
}

// Error returns the message and the cure as one sentence.
func (e *Error) Error() string { return e.Message + "; " + e.Cure }

// Is makes an error the same as another of its kind, so that callers may ask
//
//	errors.Is(err, &conversation.Error{Kind: conversation.NotYet})
func (e *Error) Is(target error) bool {
	other, ok := errors.AsType[*Error](target)
	return ok && other.Kind == e.Kind
}

// RefusalOf returns the kind of an error, or nothing if it is no refusal.
func RefusalOf(err error) Refusal {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}
