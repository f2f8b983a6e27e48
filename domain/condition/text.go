package condition

import (
	"fmt"
	"strings"
)

// The longest texts, in bytes. The API server refuses a whole object if one of its fields is longer than its schema
// allows, or if all of them are too large together (TRUST.md U5).
const (
	// MaxMessage bounds the message of a condition. The API server accepts 32 KiB.
	MaxMessage = 4 << 10
	// MaxEntry bounds a text in a list of many.
	MaxEntry = 1 << 10
)

// Line returns a text as one line: the errors of errors.Join, a line each, are told apart by semicolons.
func Line(text string) string {
	if !strings.Contains(text, "\n") {
		return text
	}
	var line strings.Builder
	for part := range strings.SplitSeq(text, "\n") {
		part = strings.TrimSpace(part)
		switch before := line.String(); {
		case part == "" || before == "":
		case strings.HasSuffix(before, ":") || strings.HasSuffix(before, ";") || strings.HasSuffix(before, ","):
			line.WriteString(" ")
		default:
			line.WriteString("; ")
		}
		line.WriteString(part)
	}
	return line.String()
}

// ellipsis ends a text that was cut.
const ellipsis = "…"

// Cut shortens a text to a number of bytes, at least 3, and no character is divided. A text that was cut ends with an
// ellipsis.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(ellipsis)], "") + ellipsis
}

// CutList shortens a list to a number of entries, at least 1. The last entry of a list that was cut tells how many are
// missing.
func CutList(all []string, most int) []string {
	if len(all) <= most {
		return all
	}
	return append(all[:most-1:most-1], fmt.Sprintf("%s and %d more", ellipsis, len(all)-most+1))
}
