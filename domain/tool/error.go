package tool

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// Exit codes of the tools, as Juju's have them.
const (
	exitFailed = 1
	exitMisuse = 2
)

// misuseError is a call that was wrong before anything was done.
type misuseError struct{ error }

// Unwrap gives way to a refusal.
func (e misuseError) Unwrap() error { return e.error }

// misuse returns the error of a call that cannot be carried out.
func misuse(cure, reason string, args ...any) error {
	return misuseError{errors.New(withCure(fmt.Sprintf(reason, args...), cure))}
}

func withCure(reason, cure string) string {
	if cure == "" {
		return reason
	}
	return reason + "; " + cure
}

// refuse makes a refusal of the tool's own (RELATIONS.md P4).
func refuse(kind conversation.Refusal, cure, message string, args ...any) error {
	return &conversation.Error{Kind: kind, Message: fmt.Sprintf(message, args...), Cure: cure}
}

// Failed returns what a tool that failed by err leaves: also for the client or
// the agent where it fails before Run. A refusal begins with its kind, so that
// scripts can tell the four apart (RELATIONS.md P4). It is one line.
func Failed(err error) Result {
	text := err.Error()
	if kind := conversation.RefusalOf(err); kind != "" {
		text = string(kind) + ": " + text
	}
	code := exitFailed
	if _, wrong := errors.AsType[misuseError](err); wrong {
		code = exitMisuse
	}
	return Result{Stderr: []byte("ERROR " + strings.Map(printable, text) + "\n"), ExitCode: code}
}

// printable keeps from a terminal what may stand in the name of a key.
func printable(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return ' '
}
