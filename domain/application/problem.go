package application

import (
	"errors"
	"fmt"
	"strings"
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

// How much a message shows, in bytes: of the entry of a warning, which has 255 in all with its reason and cure (INJECTION.md
// I1); of another entry; and of a reason or cure. What is judged may have megabytes (TRUST.md, Bounds).
const maxWarned, maxTold, maxText = 64, 256, 1024

// Shown returns a text, or so much of its beginning that it has room in a warning.
func Shown(text string) string { return cut(text, maxWarned) }

// cut returns at most that many bytes of a text, with an ellipsis for the rest.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// Error returns the problem as one sentence, for example
//
//	tengu.io/consumes: "D B": an endpoint name … ; write "d-b"
func (p Problem) Error() string {
	text := p.Key + ": "
	most := maxTold
	if p.Warning {
		most = maxWarned
	}
	if p.Entry != "" {
		text += fmt.Sprintf("%q: ", cut(p.Entry, most))
	}
	text += cut(p.Reason, maxText)
	if p.Cure != "" {
		text += "; " + cut(p.Cure, maxText)
	}
	return text
}

// Refusals joins the problems that an object must be refused for; nil if there is none (SAFETY.md I27).
func Refusals(problems []Problem) error {
	var errs []error
	for _, p := range problems {
		if !p.Warning {
			errs = append(errs, p)
		}
	}
	return errors.Join(errs...)
}
