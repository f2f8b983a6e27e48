package application

import (
	"errors"
	"fmt"
)

// Problem is one thing wrong with a declaration, with all that its author needs to mend
// it: the key, the entry in its value, the reason, and what to write.
type Problem struct { //nolint:errname // an error is one use of it
	// Key is the annotation or label.
	Key string
	// Entry is the part of the value that is wrong; empty for all of it.
	Entry string
	// Reason is why it is wrong.
	Reason string
	// Cure is the text to write instead; may be empty.
	Cure string
	// Warning is set if the object may be admitted all the same.
	Warning bool
}

// Error returns the problem as one sentence, for example
//
//	tengu.io/consumes: "D B": an endpoint name … ; write "d-b"
func (p Problem) Error() string {
	text := p.Key + ": "
	if p.Entry != "" {
		text += fmt.Sprintf("%q: ", p.Entry)
	}
	text += p.Reason
	if p.Cure != "" {
		text += "; " + p.Cure
	}
	return text
}

// Refusals joins the problems that an object must be refused for; nil if there is none
// (SAFETY.md I27).
func Refusals(problems []Problem) error {
	var errs []error
	for _, p := range problems {
		if !p.Warning {
			errs = append(errs, p)
		}
	}
	return errors.Join(errs...)
}
