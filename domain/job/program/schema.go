package program

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

	"gitlab.ilabt.imec.be/tengu/orcon/domain/weight"
)

// Schema describes the parameters of a template, as JSON Schema. The zero value allows everything.
type Schema struct {
	compiled *jsonschema.Schema
	// sensitive are the names of parameters that are marked so, sorted.
	sensitive []string
}

// MaxSchema bounds the text of a schema, in bytes.
const MaxSchema = 256 << 10

// outside refuses to load what a schema refers to.
type outside struct{}

var errOutside = errors.New("a schema may not refer to anything outside of it: copy it below $defs")

// Load implements jsonschema.URLLoader.
func (outside) Load(string) (any, error) { return nil, errOutside }

// ParseSchema reads a schema of an object; no text is the zero value.
func ParseSchema(text []byte) (Schema, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return Schema{}, nil
	}
	if len(text) > MaxSchema {
		return Schema{}, fmt.Errorf("cannot use the schema of parameters: it has more than %d KiB: shorten it", MaxSchema>>10)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = calculable(document)
	}
	if err != nil {
		return Schema{}, fmt.Errorf("cannot read the schema of parameters: %w", err)
	}
	const resource = "orcon://template/parameters.json"
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(outside{})
	compiler.UseRegexpEngine(weight.Patterns())
	if err := compiler.AddResource(resource, document); err != nil {
		return Schema{}, fmt.Errorf("cannot read the schema of parameters: %w", err)
	}
	compiled, err := compiler.Compile(resource)
	if err != nil {
		return Schema{}, fmt.Errorf("cannot use the schema of parameters: %w", err)
	}
	return Schema{compiled: compiled, sensitive: marked(document)}, nil
}

// marked returns the names of the properties of a schema that have "sensitive: true".
func marked(document any) (names []string) {
	schema, _ := document.(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if property, _ := properties[name].(map[string]any); property["sensitive"] == true {
			names = append(names, name)
		}
	}
	return names
}

// calculable refuses numbers with which the library, which calculates exactly, would not come to an end.
func calculable(document any) error {
	var below []any
	switch v := document.(type) {
	case json.Number:
		if f, err := v.Float64(); err != nil || math.Abs(f) > 1e15 || f != 0 && math.Abs(f) < 1e-15 || len(v) > 40 {
			return fmt.Errorf("number %.20s is not between 1e-15 and 1e15: correct it", v)
		}
	case []any:
		below = v
	case map[string]any:
		below = slices.Collect(maps.Values(v))
	}
	for _, part := range below {
		if err := calculable(part); err != nil {
			return err
		}
	}
	return nil
}

// Names returns the names of the parameters, sorted.
func (s Schema) Names() []string {
	if s.compiled == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.compiled.Properties))
}

// Sensitive returns the names of the parameters that reach a run as files, sorted.
func (s Schema) Sensitive() []string { return s.sensitive }

// Defaults returns the values that count for parameters that are not given.
func (s Schema) Defaults() map[string]any {
	values := map[string]any{}
	if s.compiled == nil {
		return values
	}
	for name, property := range s.compiled.Properties {
		if property.Default != nil {
			values[name] = *property.Default
		}
	}
	return values
}

// Check returns all misfits of parameters. Sensitive ones must be given if they are required; their values, which
// are files of the run, are not checked.
func (s Schema) Check(parameters map[string]any, sensitive []string) error {
	if s.compiled == nil {
		return nil
	}
	text, err := json.Marshal(parameters)
	if err != nil {
		return fmt.Errorf("cannot write the parameters as JSON: %w", err)
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = calculable(instance)
	}
	if err != nil {
		return fmt.Errorf("cannot read the parameters: %w", err)
	}
	if !weight.Affordable(s.compiled, instance) {
		return errors.New("the schema of parameters costs too much to judge by: have fewer schemas apply to the same value, by allOf, " +
			"anyOf and oneOf that refer to each other, shorten its lists and patterns, or give fewer or shorter parameters")
	}
	wrong, misfits := errors.AsType[*jsonschema.ValidationError](s.compiled.Validate(instance))
	if !misfits {
		return nil
	}
	return errors.Join(s.misfits(wrong, sensitive)...)
}

const (
	// mostMisfits is how many misfits are described.
	mostMisfits = 50
	// longest is how many bytes of a misfit, and of the name of a parameter, are shown.
	longest = 512
)

// short returns the beginning of a text, which may quote a value of any size.
func short(text string) string {
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(strings.Clone(text[:longest]), "") + "…"
}

// misfits returns one error for each leaf of an error of the library, up to mostMisfits.
func (s Schema) misfits(e *jsonschema.ValidationError, sensitive []string) []error {
	if len(e.InstanceLocation) > 0 && slices.Contains(sensitive, e.InstanceLocation[0]) {
		return nil
	}
	var all []error
	for _, cause := range e.Causes {
		if len(all) < mostMisfits {
			all = append(all, s.misfits(cause, sensitive)...)
		}
	}
	if len(e.Causes) > 0 {
		return all[:min(len(all), mostMisfits)]
	}
	at := short(strings.Join(e.InstanceLocation, "."))
	if unknown, ok := e.ErrorKind.(*kind.AdditionalProperties); ok {
		names := slices.Sorted(slices.Values(unknown.Properties))
		for _, name := range names[:min(len(names), mostMisfits)] {
			path := short(strings.TrimPrefix(at+"."+name, "."))
			all = append(all, fmt.Errorf("parameter %q is unknown%s", path, suggestion(path, s.Names())))
		}
		return all
	}
	_, why, _ := strings.Cut((&jsonschema.ValidationError{ErrorKind: e.ErrorKind}).Error(), ": ")
	why = short(why)
	if at == "" {
		return []error{fmt.Errorf("the parameters do not fit: %s", why)}
	}
	return []error{fmt.Errorf("parameter %q does not fit: %s", at, why)}
}
