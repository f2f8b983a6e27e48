package data

import (
	"fmt"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// Location is a place in the data.
type Location struct {
	// File is the path in the data, with a leading slash.
	File string
	// Line is 0 if the source has no lines, as JSON on one line.
	Line int
	// Pointer is the JSON pointer (RFC 6901) in the file; "" is the whole file.
	Pointer string
}

// String returns file:line, or file#pointer if the source has no lines.
func (l Location) String() string {
	switch {
	case l.Line > 0:
		return fmt.Sprintf("%s:%d", l.File, l.Line)
	case l.Pointer != "":
		return l.File + "#" + l.Pointer
	default:
		return l.File
	}
}

// Problem is an error in the data, with its cure.
type Problem struct {
	Location Location
	Reason   string
	Cure     string
}

// String returns the problem on one line.
func (p Problem) String() string {
	return fmt.Sprintf("%s: %s: %s", p.Location, p.Reason, p.Cure)
}

// Suggest returns a cure for an unknown name: the nearest known one, or all of a
// short list.
func Suggest(name string, known []string) string {
	if near := spelling.Nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if len(known) > 12 {
		return "correct the name, or remove it"
	}
	return "use one of " + strings.Join(known, ", ")
}
