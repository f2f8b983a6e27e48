package weight

import (
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The bounds of the regular expressions of a schema, which are compiled in the controller of all namespaces (TRUST.md U6).
// Repetitions such as {0,1000} are written out, so that a few letters may take megabytes.
const (
	// maxPattern is the length of one, in bytes.
	maxPattern = 4 << 10
	// maxInstructions is how many instructions all of a schema are made of.
	maxInstructions = 50_000
)

// pattern is a regular expression whose cost is known.
type pattern struct {
	*regexp.Regexp

	instructions int
}

// Patterns returns what compiles the regular expressions of one schema. It refuses those that are too large, by themselves
// or together.
func Patterns() jsonschema.RegexpEngine {
	known, left := map[string]pattern{}, maxInstructions
	return func(text string) (jsonschema.Regexp, error) {
		if p, found := known[text]; found {
			return p, nil
		}
		if len(text) > maxPattern {
			return nil, fmt.Errorf("pattern %.40s… is too large: it has more than %d KiB: shorten it", text, maxPattern>>10)
		}
		parsed, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			return nil, fmt.Errorf("cannot read pattern %.40s: it is not a regular expression of Go: %w", text, err)
		}
		p := pattern{instructions: size(parsed)}
		if left -= p.instructions; left < 0 {
			return nil, fmt.Errorf("pattern %.40s is too large, by itself or with those before: have fewer or smaller repetitions, such as "+
				"{0,1000}, which maxLength may replace", text)
		}
		if p.Regexp, err = regexp.Compile(text); err != nil {
			return nil, fmt.Errorf("cannot compile pattern %.40s: %w", text, err)
		}
		known[text] = p
		return p, nil
	}
}

// size returns about how many instructions an expression is made of, at most one more than may.
func size(e *syntax.Regexp) int {
	const ranges = 16 // of a class of characters cost about as much as one instruction
	n := 1 + len(e.Rune)
	if e.Op == syntax.OpCharClass {
		n = 1 + len(e.Rune)/ranges
	}
	for _, one := range e.Sub {
		n += size(one)
	}
	if e.Op == syntax.OpRepeat {
		n *= max(e.Min+1, e.Max)
	}
	return min(n, maxInstructions+1)
}
