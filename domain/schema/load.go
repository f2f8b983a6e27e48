package schema

import (
	"fmt"
	"strings"
)

// The limits of a bag's schema (SAFETY.md S5), with every reference written out
// where it stands: a few lines in which each refers twice to the next would
// otherwise be millions of schemas.
const (
	// MaxSubschemas is how many schemas it is made of.
	MaxSubschemas = 512
	// MaxPatterns is how many instructions its patterns are made of together.
	MaxPatterns = 2048
)

// MaxWork bounds the judging of one bag, in schemas applied to values: about half a second at the very worst. A bag
// beyond it is not judged: a limit on schemas and one on bags still allow their product.
const MaxWork = 1 << 18

// stepsToWork is how many steps of patterns take as long as one schema applied.
const stepsToWork = 128

// load is the cost of judging by a schema.
type load struct{ subschemas, instructions int }

// work returns the cost of judging a text with so many values.
func (l load) work(text string, values int) int {
	return l.subschemas*values + l.instructions*len(text)/stepsToWork
}

// add stops at twice the limits: a sum of doublings must not overflow.
func (l load) add(more load) load {
	return load{min(l.subschemas+more.subschemas, 2*MaxSubschemas), min(l.instructions+more.instructions, 2*MaxPatterns)}
}

// scale weighs the schema of a bag that an author's check found right.
type scale struct {
	defs map[string]any
	// known are the definitions weighed already.
	known map[string]load
	// open are those whose weighing has begun: one met again before it is known is
	// a circle.
	open   map[string]bool
	circle string
}

// weigh refuses a schema that refers to itself or costs more than the limits.
func (a *author) weigh(path string, schema map[string]any) {
	s := newScale(schema)
	total := s.schema(schema)
	for name := range a.defs {
		s.define(name) // an unused one is compiled too
	}
	if s.circle != "" {
		a.refuse(path, "a schema under $defs refers to itself", "write out as many levels as there are, or take the value as plain text")
		return
	}
	if total.subschemas > MaxSubschemas {
		a.refuse(path, fmt.Sprintf("it is made of more than %d schemas, references written out", MaxSubschemas), "make it simpler")
	}
	if total.instructions > MaxPatterns {
		a.refuse(path, fmt.Sprintf("its patterns are made of more than %d instructions, references written out: every repetition counts", MaxPatterns), "use maxLength in place of {0,N}")
	}
}

func newScale(schema map[string]any) *scale {
	return &scale{defs: below(schema, "$defs"), known: map[string]load{}, open: map[string]bool{}}
}

func (s *scale) schema(v any) load {
	total := load{subschemas: 1}
	for keyword, value := range asMap(v) {
		switch shape := shapeOf(keyword); {
		case keyword == "contentSchema" || shape == one:
			total = total.add(s.schema(value))
		case shape == several:
			for _, item := range asList(value) {
				total = total.add(s.schema(item))
			}
		case shape == named || shape == matching:
			total = total.add(s.all(value, shape))
		default:
			total = total.add(s.plain(keyword, value))
		}
	}
	return total
}

func (s *scale) all(v any, shape shape) load {
	var total load
	for name, below := range asMap(v) {
		total = total.add(s.schema(below))
		if shape == matching {
			total = total.add(instructions(name))
		}
	}
	return total
}

// namesToSchema is how many values or names, each compared, count as a schema.
const namesToSchema = 16

func (s *scale) plain(keyword string, v any) load {
	text, _ := v.(string)
	switch keyword {
	case "$ref":
		return s.define(strings.TrimPrefix(text, "#/$defs/"))
	case "pattern":
		return instructions(text)
	case "enum", "required":
		return load{subschemas: len(asList(v)) / namesToSchema}
	case "dependentRequired":
		var total load
		for _, names := range asMap(v) {
			total = total.add(load{subschemas: 1 + len(asList(names))/namesToSchema})
		}
		return total
	default:
		return load{}
	}
}

func (s *scale) define(name string) load {
	if known, ok := s.known[name]; ok {
		return known
	}
	if s.open[name] {
		s.circle = name
		return load{}
	}
	s.open[name] = true
	total := s.schema(s.defs[name])
	s.known[name] = total
	return total
}

func instructions(text string) load {
	p, err := compilePattern(text)
	if err != nil {
		return load{instructions: 2 * MaxPatterns}
	}
	return load{instructions: p.instructions}
}
