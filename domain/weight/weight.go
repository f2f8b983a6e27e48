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
// may apply to one value and to what is in it, with each reference written out, and that times the number of values.
const (
	maxSchemas = 50_000
	maxWork    = 4 << 20
)

// Affordable reports whether values can be judged by a schema within the bounds: at most 50,000 schemas for one value, and
// 4 Mi judgements in all (TRUST.md U6).
func Affordable(s *jsonschema.Schema, values any) bool {
	count, depth := extent(values)
	schemas := weigher{}.of(s, depth)
	return schemas <= maxSchemas && schemas*count <= maxWork
}

// extent returns how many values there are in a value, itself included, and how deep they lie.
func extent(value any) (count, depth int) {
	var below []any
	switch v := value.(type) {
	case []any:
		below = v
	case map[string]any:
		below = slices.Collect(maps.Values(v))
	}
	count = 1
	for _, one := range below {
		more, deep := extent(one)
		count, depth = count+more, max(depth, deep+1)
	}
	return count, depth
}

// weigher has the weights that are known; that of a schema which is being weighed is none, since the library refuses one
// that applies to a value by itself.
type weigher map[weighed]int

// weighed is a schema for values of a depth.
type weighed struct {
	schema *jsonschema.Schema
	depth  int
}

// of returns how many schemas apply, at most one more than may.
func (w weigher) of(s *jsonschema.Schema, depth int) int {
	key := weighed{s, depth}
	if weight, known := w[key]; known {
		return weight
	}
	w[key] = 0
	weight := 1
	if s.DynamicRef != nil || s.RecursiveRef != nil { // what they stand for is not known before
		weight = maxSchemas + 1
	}
	for _, one := range here(s) {
		weight = min(weight+w.of(one, depth), maxSchemas+1)
	}
	for _, one := range inside(s) {
		if depth > 0 {
			weight = min(weight+w.of(one, depth-1), maxSchemas+1)
		}
	}
	w[key] = weight
	return weight
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
