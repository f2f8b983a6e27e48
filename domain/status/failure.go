package status

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Failure describes a failing handler of a unit.
type Failure struct {
	// Event is the hook and the unit it is about: "db-relation-changed (pg/0)". It is empty if nothing fails.
	Event string
	// Relation is the UID of the relation concerned; empty for none.
	Relation string
	// Attempts counts from 1.
	Attempts int
	// Since is when the controller first heard of it, in whole seconds.
	Since time.Time
	// Said is how the handler ended and its last words, as LastWords makes them.
	Said string
}

// The limits of a failure's texts, in bytes.
const (
	maxEvent = 256
	maxSaid  = 512
)

// Fails reports whether anything does.
func (f Failure) Fails() bool { return f.Event != "" }

// Bounded returns f cut to the limits of storage.
func (f Failure) Bounded() Failure {
	f.Event, f.Said = cut(tidy(f.Event), maxEvent), LastWords(f.Said)
	f.Attempts = max(f.Attempts, 1)
	return f
}

// Follows returns f as it is noted after before was: the same event fails since the
// same time.
func (f Failure) Follows(before Failure, now time.Time) Failure {
	f.Since = now.UTC().Truncate(time.Second)
	if before.Event == f.Event && before.Relation == f.Relation {
		f.Since = before.Since
	}
	return f
}

// IsNews reports whether a failure deserves an Event after before was noted: another event fails, or with another
// message. A repeated failure does not.
func (f Failure) IsNews(before Failure) bool {
	before.Attempts = f.Attempts
	return f.Fails() && f != before
}

// Tells reports whether a failed attempt is sent to the controller: the first, and then each time that their number
// has doubled. An event that fails for a day is sent nine times.
func Tells(attempts int) bool { return bits.OnesCount(uint(max(attempts, 0))) == 1 }

// Text returns that a unit's handler fails, and where to read more. It does not change
// while the same goes wrong.
func (f Failure) Text(namespace, unit, pod string) string {
	return fmt.Sprintf("%s has failed to handle %s since %s: %s; it is retried, see kubectl -n %s logs %s --all-containers",
		unit, f.Event, f.Since.UTC().Format(time.RFC3339), cmp.Or(f.Said, "it wrote nothing"), namespace, pod)
}

// Cut marks where a part of a text was left out.
const Cut = "…"

// LastWords makes one line for people of a handler's output: the end of it, without invalid text, and without the
// values to hide, which are secret. Beside a Cut it hides parts of values too.
func LastWords(text string, hide ...string) string {
	var pairs []string
	lines := hidden(hide)
	for _, line := range lines {
		pairs = append(pairs, line, secretWord)
	}
	parts := strings.Split(strings.NewReplacer(pairs...).Replace(text), Cut)
	for i := range parts {
		if i > 0 {
			parts[i] = hideStart(parts[i], lines)
		}
		if i < len(parts)-1 {
			parts[i] = hideEnd(parts[i], lines)
		}
	}
	return cut(tidy(strings.Join(parts, Cut)), maxSaid)
}

// secretWord stands for what is hidden.
const secretWord = "[secret]"

// hideStart hides the words at the start of a text with which a line ends, or goes on until the text ends.
func hideStart(text string, lines []string) string {
	longest := 0
	for _, line := range lines {
		for i := range line {
			n := common(line[i:], text)
			whole := n == len(line)-i || n >= len(strings.TrimRight(text, " "))
			if whole && n >= minHidden && line[max(i-1, 0)] == ' ' {
				longest = max(longest, n)
			}
		}
	}
	if longest == 0 {
		return text
	}
	return secretWord + text[longest:]
}

// common returns the length of the beginning that two texts share.
func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// hideEnd hides the words at the end of a text with which a line begins.
func hideEnd(text string, lines []string) string {
	longest, trimmed := 0, strings.TrimRight(text, " ")
	for _, line := range lines {
		for i := range line {
			if line[i] == ' ' && i >= minHidden && i > longest && strings.HasSuffix(trimmed, line[:i]) {
				longest = i
			}
		}
	}
	if longest == 0 {
		return text
	}
	return trimmed[:len(trimmed)-longest] + secretWord
}

// hidden returns the lines of values, as they are and as they are in text: the longest first, since one may be part of
// another.
func hidden(values []string) []string {
	var lines []string
	for _, value := range values {
		for line := range strings.Lines(value) {
			for _, line := range []string{
				strings.TrimSpace(line), strings.TrimSpace(strings.ToValidUTF8(line, "")), strings.Join(strings.Fields(line), " "),
			} {
				if len(line) >= minHidden {
					lines = append(lines, line)
				}
			}
		}
	}
	slices.SortFunc(lines, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	return slices.Compact(lines)
}

// minHidden is the length from which on a value is hidden: in place of a shorter one
// ordinary words would be.
const minHidden = 4

// isShown reports whether a rune is fit for a terminal and no space.
func isShown(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }
