// Package redact replaces the values of secrets in what a run writes, before it leaves the run (JOBS.md J14).
//
// It finds a value as it is, and as JSON, URLs and base64 write it; of a value of several lines, such as a private key,
// also each line. It does not find a value that a program has changed in another way, nor one of less than [Shortest]
// bytes: such a value stands in too many texts by chance.
//
// What must not come in: where values come from, and where texts go.
package redact

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

const (
	// Shortest is the length of the shortest value that is replaced, in bytes.
	Shortest = 4
	// Mask takes the place of a value.
	Mask = "[redacted]"
)

// Redactor replaces the values of secrets in one stream. It keeps back at most as many bytes as the longest form of a
// value has. The zero Redactor replaces nothing.
type Redactor struct {
	// forms are what is looked for, by their first byte, the longest ones first.
	forms [256][][]byte
	held  []byte
}

// New returns the Redactor of a stream.
func New(values ...string) *Redactor {
	r := &Redactor{}
	for _, form := range forms(values) {
		r.forms[form[0]] = append(r.forms[form[0]], []byte(form))
	}
	return r
}

// forms returns the texts by which values are found, the longest ones first, each once.
func forms(values []string) []string {
	var all []string
	for _, value := range values {
		for _, part := range append(strings.Split(value, "\n"), value) {
			if part = strings.TrimSpace(part); len(part) >= Shortest {
				all = append(all, part, url.QueryEscape(part), url.PathEscape(part), inJSON(part, true), inJSON(part, false))
			}
		}
		if len(value) >= Shortest {
			all = append(all, value, base64.StdEncoding.EncodeToString([]byte(value)), base64.URLEncoding.EncodeToString([]byte(value)))
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	return slices.Compact(all)
}

// inJSON returns a text as it stands in a string of JSON, with or without the characters of HTML escaped.
func inJSON(text string, html bool) string {
	var to bytes.Buffer
	encoder := json.NewEncoder(&to)
	encoder.SetEscapeHTML(html)
	if err := encoder.Encode(text); err != nil {
		return text
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(to.String(), "\n"), `"`), `"`)
}

// Next takes the next part of the stream and returns what may leave now: all but an end that may be the beginning of a
// value.
func (r *Redactor) Next(part []byte) []byte { return r.pass(part, false) }

// Rest returns what was kept back, when the stream has ended.
func (r *Redactor) Rest() []byte { return r.pass(nil, true) }

// pass returns what may leave, and keeps the rest.
func (r *Redactor) pass(part []byte, last bool) []byte {
	text := append(r.held, part...)
	r.held = nil
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		found, more := r.at(text)
		switch {
		case more && !last:
			r.held = bytes.Clone(text)
			return out
		case found > 0:
			out, text = append(out, Mask...), text[found:]
		default:
			out, text = append(out, text[0]), text[1:]
		}
	}
	return out
}

// at returns the length of the longest value that begins a text, 0 for none; more is true while a longer one may begin
// it.
func (r *Redactor) at(text []byte) (found int, more bool) {
	for _, form := range r.forms[text[0]] {
		switch {
		case bytes.HasPrefix(text, form):
			return len(form), more
		case len(form) > len(text) && bytes.HasPrefix(form, text):
			more = true
		}
	}
	return 0, more
}
