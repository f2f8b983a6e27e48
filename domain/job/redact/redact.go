package redact

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// Mask takes the place of a value.
const Mask = "[redacted]"

// Values finds the values of secrets in texts. The zero value knows none.
type Values struct {
	known map[string]bool
	// forms are the texts that are looked for, the longest ones first: all, and those that begin with the same bytes.
	forms  [][]byte
	starts map[[Shortest]byte][][]byte
	// first are the bytes with which forms begin.
	first [256]bool
}

// Learn adds values; those that are known change nothing.
func (v *Values) Learn(values ...string) {
	if !slices.ContainsFunc(values, func(value string) bool { return !v.known[value] }) {
		return
	}
	if v.known == nil {
		v.known = map[string]bool{}
	}
	for _, value := range values {
		if !v.known[value] && len(strings.TrimSpace(value)) >= Shortest {
			for _, form := range forms(value) {
				v.forms = append(v.forms, []byte(form))
			}
		}
		v.known[value] = true
	}
	slices.SortFunc(v.forms, func(a, b []byte) int { return cmp.Or(cmp.Compare(len(b), len(a)), bytes.Compare(a, b)) })
	v.forms = slices.CompactFunc(v.forms, bytes.Equal)
	v.starts = map[[Shortest]byte][][]byte{}
	for _, form := range v.forms {
		v.first[form[0]] = true
		start := [Shortest]byte(form)
		v.starts[start] = append(v.starts[start], form)
	}
}

// Replace returns a text without values, and how many bytes of the text that stands for: all but an end that may be the
// beginning of a value, and all of the last text. What it leaves begins the next text.
func (v *Values) Replace(text []byte, last bool) (out []byte, read int) {
	out = make([]byte, 0, len(text))
	copied, at := 0, 0
	for at < len(text) {
		if !v.first[text[at]] {
			at++
			continue
		}
		found, more := v.find(text[at:])
		switch {
		case more && !last:
			return append(out, text[copied:at]...), at
		case found > 0:
			out = append(append(out, text[copied:at]...), Mask...)
			at += found
			copied = at
		default:
			at++
		}
	}
	return append(out, text[copied:]...), len(text)
}

// Has reports whether a text has a value.
func (v *Values) Has(text string) bool {
	out, _ := v.Replace([]byte(text), true)
	return string(out) != text
}

// find returns the length of the longest form that begins a text, 0 for none; more is true while a longer one may.
func (v *Values) find(text []byte) (found int, more bool) {
	candidates := v.forms
	if len(text) >= Shortest {
		candidates = v.starts[[Shortest]byte(text)]
	}
	for _, form := range candidates {
		switch {
		case bytes.HasPrefix(text, form):
			return len(form), more
		case len(form) > len(text) && bytes.HasPrefix(form, text):
			more = true
		}
	}
	return 0, more
}

// Stream is a text that comes in parts. It keeps back at most as many bytes as the longest form of a value has.
type Stream struct{ held []byte }

// Next returns what may leave after a part, or after the last one.
func (s *Stream) Next(v *Values, part []byte, last bool) []byte {
	text := append(s.held, part...)
	out, read := v.Replace(text, last)
	s.held = bytes.Clone(text[read:])
	return out
}
