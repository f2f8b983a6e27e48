package tool

import (
	"errors"
	"fmt"
	"strings"
)

// Kind tells refusals apart (RELATIONS.md P4).
type Kind string

// The kinds of refusals. The word stands at the beginning of what a tool prints,
// so that scripts can tell them apart too.
const (
	// NotYet is what may come: related, but the data, the unit or the grant is not
	// there.
	NotYet Kind = "not-yet"
	// Gone is what has ended: a relation, a unit, a secret.
	Gone Kind = "gone"
	// Forbidden is what somebody else may do; the reason says who.
	Forbidden Kind = "forbidden"
	// Invalid is what nobody may do or write; the reason says which rule or schema
	// path.
	Invalid Kind = "invalid"
)

// Error is why a tool failed, for a person and a script to read. Ports return it,
// wrapped or not; any other error they return is printed as it is.
type Error struct {
	Kind   Kind
	Reason string
	// Cure says what to do; may be empty. No newline in it or in Reason.
	Cure string
}

// Error returns "<kind>: <reason>; <cure>".
func (e Error) Error() string {
	text := e.Reason
	if e.Kind != "" {
		text = string(e.Kind) + ": " + text
	}
	if e.Cure != "" {
		text += "; " + e.Cure
	}
	return text
}

// Exit codes of the tools, as Juju's have them.
const (
	exitFailed = 1
	exitMisuse = 2
)

// misuseError is a call that was wrong before anything was done.
type misuseError struct{ error }

// Unwrap gives way to the kind.
func (e misuseError) Unwrap() error { return e.error }

// misuse makes the error of a call that nobody can carry out.
func misuse(cure, reason string, args ...any) error {
	return misuseError{Error{Reason: fmt.Sprintf(reason, args...), Cure: cure}}
}

// Failed returns what a tool that failed by err leaves: also for the client or
// the agent where it fails before Run.
func Failed(err error) Result {
	code := exitFailed
	if _, wrong := errors.AsType[misuseError](err); wrong {
		code = exitMisuse
	}
	return Result{Stderr: []byte("ERROR " + explain(err) + "\n"), ExitCode: code}
}

// explain puts the kind first, also where the error was wrapped.
func explain(err error) string {
	text := err.Error()
	kinded, ok := errors.AsType[Error](err)
	if !ok || kinded.Kind == "" {
		return text
	}
	kind := string(kinded.Kind) + ": "
	return kind + strings.Replace(text, kind, "", 1)
}
