package schema

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

// The library names a place in a schema by the fragment of a URL, in which all but a
// few characters are written as percent and hexadecimal digits.
var (
	special = regexp.MustCompile(`[^A-Za-z0-9_.~-]`)
	escaped = regexp.MustCompile(`(?:%[0-9A-Fa-f]{2})+`)
)

// escape writes a name so that it can stand in a fragment.
func escape(name string) string {
	return special.ReplaceAllStringFunc(name, func(s string) string {
		return "%" + strings.ReplaceAll(fmt.Sprintf("% X", s), " ", "%")
	})
}

// unescape reads what escape, or the library, wrote.
func unescape(fragment string) string {
	return escaped.ReplaceAllStringFunc(fragment, func(s string) string {
		text, err := hex.DecodeString(strings.ReplaceAll(s, "%", ""))
		if err != nil {
			return s
		}
		return string(text)
	})
}
