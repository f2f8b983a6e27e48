// Package weight finds how much it costs at most to judge values by a JSON Schema.
//
// What must not come in: a schema's own words, and what is done about one that costs too much.
package weight

import (
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The bounds of judging values by a schema, which happens in the controller of all namespaces (TRUST.md U6): how many schemas
// may apply to one value and to what is in it, with each reference written out, and that times the number of values; and how
// many steps its patterns may take, which are instructions times bytes.
const (
	maxSchemas = 50_000
	maxWork    = 4 << 20
	maxSteps   = 512 << 20
)

// Affordable reports whether values can be judged by a schema within the bounds: at most 50,000 schemas for one value, and
// 4 Mi judgements in all (TRUST.md U6). Words that a schema lists count as schemas. Its patterns are those of Patterns.
func Affordable(s *jsonschema.Schema, values any) bool {
	e := extentOf(values)
	w := weigher{}.of(s, e.depth)
	return w.schemas <= maxSchemas && w.schemas*e.count <= maxWork && w.instructions*e.letters <= maxSteps
}

// extent is how large a value is: how many values there are in it, itself included, how deep they lie, and how many bytes
// the texts and names in it have.
type extent struct{ count, depth, letters int }

// extentOf returns the extent of a value.
func extentOf(value any) extent {
	e := extent{count: 1}
	var below []any
	switch v := value.(type) {
	case string:
		e.letters = len(v)
	case []any:
		below = v
	case map[string]any:
		below = slices.Collect(maps.Values(v))
		for name := range v {
			e.letters += len(name)
		}
	}
	for _, one := range below {
		more := extentOf(one)
		e.count, e.depth, e.letters = e.count+more.count, max(e.depth, more.depth+1), e.letters+more.letters
	}
	return e
}

// load counts the work of judging a value and the values in it.
type load struct{ schemas, instructions int }

// add returns the sum of two loads, in which nothing is much more than may be.
func (l load) add(more load) load {
	return load{min(l.schemas+more.schemas, maxSchemas+1), min(l.instructions+more.instructions, maxSteps+1)}
}

// itself returns the load of a schema without those that it refers to.
func itself(s *jsonschema.Schema) load {
	const word = 16 // bytes of a text that is listed cost about as much as one judgement
	l := load{schemas: 1}
	var listed []any
	if s.Enum != nil {
		listed = slices.Clone(s.Enum.Values)
	}
	if s.Const != nil {
		listed = append(listed, *s.Const)
	}
	for _, names := range s.DependentRequired {
		l.schemas += len(names)
	}
	for _, names := range s.Dependencies {
		if names, are := names.([]string); are {
			l.schemas += len(names)
		}
	}
	if e := extentOf(listed); len(listed) > 0 {
		l.schemas += e.count + e.letters/word
	}
	l.schemas += len(s.Required)
	if s.MinLength != nil || s.MaxLength != nil || s.Format != nil {
		l.instructions++ // these look at each letter too
	}
	l = l.add(expression(s.Pattern))
	for one := range s.PatternProperties {
		l = l.add(expression(one))
	}
	return l
}

// expression returns the load of a pattern; nil for none.
func expression(r jsonschema.Regexp) load {
	if p, known := r.(pattern); known {
		return load{instructions: p.instructions}
	}
	return load{}
}

// weigher has the loads that are known; that of a schema which is being weighed is none, since the library refuses one
// that applies to a value by itself.
type weigher map[weighed]load

// weighed is a schema for values of a depth.
type weighed struct {
	schema *jsonschema.Schema
	depth  int
}

// of returns the load of all schemas that apply.
func (w weigher) of(s *jsonschema.Schema, depth int) load {
	key := weighed{s, depth}
	if all, known := w[key]; known {
		return all
	}
	w[key] = load{}
	all := itself(s)
	if s.DynamicRef != nil || s.RecursiveRef != nil { // what they stand for is not known before
		all.schemas = maxSchemas + 1
	}
	for _, one := range here(s) {
		all = all.add(w.of(one, depth))
	}
	for _, one := range inside(s) {
		if depth > 0 {
			all = all.add(w.of(one, depth-1))
		}
	}
	w[key] = all
	return all
}

// here returns the schemas that apply to the same value as a schema.
func here(s *jsonschema.Schema) []*jsonschema.Schema {
	all := slices.Concat([]*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else, s.ContentSchema}, s.AllOf, s.AnyOf, s.OneOf)
	for _, one := range s.DependentSchemas {
		all = append(all, one)
	}
	for _, one := range s.Dependencies {
		all = append(all, schemas(one)...)
	}
	return there(all)
}

// inside returns the schemas that apply to what is in a value.
func inside(s *jsonschema.Schema) []*jsonschema.Schema {
	all := []*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems}
	all = slices.Concat(all, s.PrefixItems, schemas(s.AdditionalProperties), schemas(s.Items), schemas(s.AdditionalItems))
	for _, one := range s.Properties {
		all = append(all, one)
	}
	for _, one := range s.PatternProperties {
		all = append(all, one)
	}
	return there(all)
}

// schemas returns those in a field of several types.
func schemas(field any) []*jsonschema.Schema {
	switch of := field.(type) {
	case *jsonschema.Schema:
		return []*jsonschema.Schema{of}
	case []*jsonschema.Schema:
		return of
	}
	return nil
}

func there(all []*jsonschema.Schema) []*jsonschema.Schema {
	return slices.DeleteFunc(all, func(s *jsonschema.Schema) bool { return s == nil })
}
