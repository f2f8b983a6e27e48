package fleet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"gopkg.in/yaml.v3"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/weight"
)

// Schema is the part of a chart's values.schema.json that describes items of integrations and cronjobs. The zero value
// allows everything. What else a schema demands of values, the renderer checks, since the chart's own values count there.
type Schema struct {
	// lists are the schemas that integrations and cronjobs must fit, fields the names of the fields of their items.
	lists  map[string][]*jsonschema.Schema
	fields []string
}

// The lists of the values.
const (
	integrations = "integrations"
	cronJobs     = "cronjobs"
)

// local refuses to load what a schema refers to.
type local struct{}

var errLocal = errors.New("a schema may not refer to anything outside the chart: copy it into the schema, below $defs")

// Load implements jsonschema.URLLoader.
func (local) Load(string) (any, error) { return nil, errLocal }

// ParseSchema reads a values.schema.json; no text is the zero value.
func ParseSchema(text []byte) (Schema, error) {
	if len(text) == 0 {
		return Schema{}, nil
	}
	compiled, err := compile(text)
	if err != nil {
		return Schema{}, fmt.Errorf("cannot use values.schema.json: %w", err)
	}
	s := Schema{lists: map[string][]*jsonschema.Schema{}}
	for _, list := range []string{integrations, cronJobs} {
		for _, at := range applied(compiled) {
			if of := at.Properties[list]; of != nil {
				s.lists[list] = append(s.lists[list], of)
				s.fields = append(s.fields, fieldsOf(of)...)
			}
		}
	}
	slices.Sort(s.fields)
	s.fields = slices.Compact(s.fields)
	return s, nil
}

// compile reads a schema that refers to nothing outside.
func compile(text []byte) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = bounded(document)
	}
	if err != nil {
		return nil, err
	}
	const resource = "orcon://chart/values.schema.json"
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(local{})
	compiler.UseRegexpEngine(weight.Patterns())
	if err := compiler.AddResource(resource, document); err != nil {
		return nil, err
	}
	return compiler.Compile(resource)
}

// mostDigits bounds the numbers of a schema: the library calculates exactly, and 1e999999999 has a thousand million digits.
const mostDigits = 1e15

// bounded refuses numbers that are too large or too small to calculate with.
func bounded(document any) error {
	var below []any
	switch v := document.(type) {
	case json.Number:
		return calculable(v)
	case []any:
		below = v
	case map[string]any:
		below = slices.Collect(maps.Values(v))
	}
	for _, part := range below {
		if err := bounded(part); err != nil {
			return err
		}
	}
	return nil
}

// calculable refuses a number that is too large or too small to calculate with.
func calculable(n json.Number) error {
	f, err := n.Float64()
	size := math.Abs(f)
	if err != nil || size > mostDigits || size < 1/mostDigits && strings.ContainsAny(mantissa(n.String()), "123456789") {
		return fmt.Errorf("number %.20s is not between 1e-15 and 1e15: correct it", n)
	}
	return nil
}

// mantissa returns a number without its exponent.
func mantissa(number string) string {
	before, _, _ := strings.Cut(strings.ToLower(number), "e")
	return before
}

// applied returns a schema with all that apply wherever it does: by $ref and allOf.
func applied(s *jsonschema.Schema) []*jsonschema.Schema {
	var all []*jsonschema.Schema
	open := []*jsonschema.Schema{s}
	for len(open) > 0 {
		next := open[0]
		open = open[1:]
		if next == nil || slices.Contains(all, next) {
			continue
		}
		all = append(all, next)
		open = append(append(open, next.Ref), next.AllOf...)
	}
	return all
}

// fieldsOf returns the names of the fields that items of a list have.
func fieldsOf(list *jsonschema.Schema) []string {
	var names []string
	for _, of := range applied(list) {
		items, _ := of.Items.(*jsonschema.Schema) // of drafts before 2020-12
		for _, item := range slices.Concat(applied(items), applied(of.Items2020)) {
			names = slices.AppendSeq(names, maps.Keys(item.Properties))
		}
	}
	return names
}

// SpecFields returns the names of the fields that items have, for data.Options.
func (s Schema) SpecFields() []string { return s.fields }

// Check returns what does not fit the schema in the values of a member, with the location of the field in its file.
func (s Schema) Check(m Member) []data.Problem {
	list := integrations
	if m.CronJob() {
		list = cronJobs
	}
	if m.Integration == "" || len(s.lists[list]) == 0 {
		return nil
	}
	instance, err := m.instance()
	if err != nil {
		return []data.Problem{{Location: m.Location, Reason: err.Error(), Cure: "write it as JSON could"}}
	}
	var all []data.Problem
	for _, of := range s.lists[list] {
		if !weight.Affordable(of, instance) {
			return []data.Problem{{
				Location: m.Location, Reason: "the chart's values.schema.json costs too much to judge by",
				Cure: "have fewer of its schemas apply to the same value: look for allOf, anyOf and oneOf that refer to each other",
			}}
		}
		wrong, misfits := errors.AsType[*jsonschema.ValidationError](of.Validate(instance))
		if !misfits {
			continue
		}
		for _, p := range m.misfits(wrong) {
			if !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	return all
}

// instance returns the list with the member as its only item, in the types of the library.
func (m Member) instance() (any, error) {
	text, err := yaml.Marshal([]Item{m.item()})
	if err != nil {
		return nil, fmt.Errorf("cannot write the values: %w", err)
	}
	var list []any
	if err := yaml.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("cannot read the values: %w", err)
	}
	if text, err = json.Marshal(list); err != nil {
		return nil, fmt.Errorf("cannot write the values as JSON: %w", err)
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(text))
}

// misfits returns the problems of an error of the library, one for each field.
func (m Member) misfits(e *jsonschema.ValidationError) []data.Problem {
	var all []data.Problem
	for _, cause := range e.Causes {
		all = append(all, m.misfits(cause)...)
	}
	if len(e.Causes) > 0 {
		return all
	}
	path := e.InstanceLocation
	if len(path) > 0 {
		path = path[1:] // the item
	}
	const cure = "correct it, or the schema of the chart"
	_, why, _ := strings.Cut((&jsonschema.ValidationError{ErrorKind: e.ErrorKind}).Error(), ": ")
	unknown, isUnknown := e.ErrorKind.(*kind.AdditionalProperties)
	switch {
	case isUnknown:
		for _, name := range unknown.Properties {
			at := append(slices.Clone(path), name)
			all = append(all, m.find(at[0], fmt.Sprintf("the chart has no field %q", strings.Join(at, ".")), cure))
		}
		return all
	case len(path) == 0:
		return []data.Problem{{Location: m.Location, Reason: "the spec " + misfit + why, Cure: cure}}
	}
	return []data.Problem{m.find(path[0], fmt.Sprintf("field %q %s", strings.Join(path, "."), misfit+why), cure)}
}

// misfit begins the reason of a value that a schema refuses.
const misfit = "does not fit the chart's values.schema.json: "
