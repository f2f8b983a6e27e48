package schema

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The limits of regular expressions (SAFETY.md S5). Go's match in time linear in the text, times the instructions
// that they are made of: repetitions such as {0,1000} are written out, so the instructions are limited.
const (
	// MaxPattern is the length of one, in bytes.
	MaxPattern = 256
	// MaxInstructions is how many instructions one may be made of.
	MaxInstructions = 256
	// MaxSteps is the most that matching one text may take, instructions times
	// bytes. A longer text does not match: up to 64 instructions any value fits.
	MaxSteps = 4 << 20
)

// pattern is a regular expression whose cost is known.
type pattern struct {
	*regexp.Regexp
	instructions int
}

// MatchString reports whether text matches, and false where looking would take
// more than MaxSteps.
func (p *pattern) MatchString(text string) bool {
	return !p.tooLong(text) && p.Regexp.MatchString(text)
}

// tooLong reports whether matching a text would take more than MaxSteps.
func (p *pattern) tooLong(text string) bool { return len(text)*p.instructions > MaxSteps }

// unmatched returns why a text does not match a pattern, and the pattern, in words where it has any.
func unmatched(text, expression string) (reason, expected string) {
	if p, err := compilePattern(expression); err == nil && p.tooLong(text) {
		return "it is too long for its pattern to be checked", "fewer characters"
	}
	if words := wordsOf(expression); words != "" {
		return "it does not match the pattern", fmt.Sprintf("%s (%s)", words, expression)
	}
	return "it does not match the pattern", expression
}

// digits matches a pattern of a number of digits.
var digits = regexp.MustCompile(`^\^\[0-9\]\{(\d+),(\d+)\}\$$`)

// wordsOf returns a pattern in words; empty if only the pattern itself can say it.
func wordsOf(expression string) string {
	if m := digits.FindStringSubmatch(expression); m != nil {
		return fmt.Sprintf("%s to %s digits", m[1], m[2])
	}
	switch expression {
	case `^[0-9]+$`:
		return "digits only"
	case `^\S+$`:
		return "a text without spaces"
	case `^https?://`:
		return "a URL that begins with http:// or https://"
	case `^/\S*$`:
		return "a path that begins with / and has no spaces"
	}
	return ""
}

// compilePattern compiles a regular expression within the limits.
func compilePattern(text string) (*pattern, error) {
	if len(text) > MaxPattern {
		return nil, fmt.Errorf("a pattern has at most %d bytes, this one has %d", MaxPattern, len(text))
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("it is not a regular expression of Go (RE2: no look-around, no back-references): %s",
			strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, fmt.Errorf("it cannot be compiled: %w", err)
	}
	if n := len(program.Inst); n > MaxInstructions {
		return nil, fmt.Errorf("a pattern is made of at most %d instructions, this one of %d: every repetition counts", MaxInstructions, n)
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("it is not a regular expression: %w", err)
	}
	return &pattern{Regexp: compiled, instructions: len(program.Inst)}, nil
}

// engine gives the library our patterns in place of its own.
func engine(text string) (jsonschema.Regexp, error) {
	p, err := compilePattern(text)
	if err != nil {
		return nil, err
	}
	return p, nil
}
