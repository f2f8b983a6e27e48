package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

const (
	// Shortest is the length of the shortest value that is replaced, in bytes.
	Shortest = 4
	// shortestLine is the length of the shortest line of a longer value, as in PEM or base64, that is replaced alone.
	shortestLine = 8
	// piece is the length of the pieces that a longer value is looked for in, in bytes: a multiple of 3, for base64.
	piece = 24 << 10
)

// forms returns the texts by which a value is found.
func forms(value string) (all []string) {
	for _, part := range parts(value) {
		all = append(all,
			part, inJSON(part, true), inJSON(part, false), inURL(part, ""), inURL(part, "/"), inURL(part, "$&+:=@"),
			strings.ReplaceAll(inURL(part, " "), " ", "+"),
		)
	}
	for _, whole := range []string{value, strings.TrimSpace(value)} {
		for one := range slices.Chunk([]byte(whole), piece) {
			all = append(all, inBase64(one)...)
		}
	}
	return slices.DeleteFunc(all, func(form string) bool { return len(form) < Shortest })
}

// parts returns a value, and each of its lines, as pieces without the space around them.
func parts(value string) (all []string) {
	lines := slices.DeleteFunc(strings.Split(value, "\n"), func(line string) bool { return len(strings.TrimSpace(line)) < shortestLine })
	for _, whole := range append(lines, value) {
		for one := range slices.Chunk([]byte(strings.TrimSpace(whole)), piece) {
			all = append(all, string(one))
		}
	}
	return all
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

// plain are the bytes that each part of a URL may have.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~"

// inURL returns a text in which other bytes than plain ones, and further ones, are %XX.
func inURL(text, further string) string {
	var to strings.Builder
	for _, b := range []byte(text) {
		if strings.IndexByte(plain, b) >= 0 || strings.IndexByte(further, b) >= 0 {
			to.WriteByte(b)
			continue
		}
		fmt.Fprintf(&to, "%%%02X", b)
	}
	return to.String()
}

// inBase64 returns a value in base64: alone, as lines of the usual lengths, and within a longer value, where the first and
// the last characters depend on what stands beside it.
func inBase64(value []byte) (all []string) {
	for _, alphabet := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		alone := alphabet.EncodeToString(value)
		all = append(all, alone)
		for _, width := range []int{64, 76} {
			for line := range slices.Chunk([]byte(alone), width) {
				if len(line) >= shortestLine {
					all = append(all, string(line))
				}
			}
		}
		for before, cut := range []int{0, 2, 3} {
			text := alphabet.WithPadding(base64.NoPadding).EncodeToString(append(make([]byte, before), value...))
			if (before+len(value))%3 != 0 {
				text = text[:len(text)-1]
			}
			all = append(all, text[cut:])
		}
	}
	return all
}
