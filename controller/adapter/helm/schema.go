package helm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	chart "helm.sh/helm/v4/pkg/chart/v2"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// resource is the name under which the library knows a chart's schema.
const resource = "orcon://chart/values.schema.json"

// nothing is a loader that loads nothing.
type nothing struct{}

var errLoad = errors.New("a schema may not refer to anything outside the chart: copy it into the schema, below $defs")

// Load implements jsonschema.URLLoader.
func (nothing) Load(string) (any, error) { return nil, errLoad }

// schemas keeps compiled schemas by their text.
type schemas struct{ sync.Map }

// validate checks the merged values of a chart, and of those in it, by their schemas.
func (s *schemas) validate(c *chart.Chart, values map[string]any) error {
	err := s.validateOne(c, values)
	failed := []error{err}
	for _, d := range c.Dependencies() {
		if of, ok := values[d.Name()].(map[string]any); ok {
			failed = append(failed, s.validate(d, of))
		}
	}
	return errors.Join(failed...)
}

func (s *schemas) validateOne(c *chart.Chart, values map[string]any) error {
	if c.Schema == nil {
		return nil
	}
	compiled, err := s.compile(c)
	if err != nil {
		return err
	}
	// The library wants the types that it reads itself.
	text, err := json.Marshal(values)
	if err != nil {
		return fmt.Errorf("cannot write the values as JSON: %w", err)
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("cannot read the values: %w", err)
	}
	if err := compiled.Validate(instance); err != nil {
		where := fmt.Sprintf("cannot use the values for chart %s: they do not fit its values.schema.json:%s", c.Name(), misfits(err))
		return bundle.Located(where, nil)
	}
	return nil
}

// compile returns the compiled schema of a chart.
func (s *schemas) compile(c *chart.Chart) (*jsonschema.Schema, error) {
	if known, ok := s.Load(string(c.Schema)); ok {
		if compiled, ok := known.(*jsonschema.Schema); ok {
			return compiled, nil
		}
	}
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(c.Schema))
	if err != nil {
		return nil, fmt.Errorf("cannot read values.schema.json of chart %s: %w", c.Name(), err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(nothing{})
	if err := compiler.AddResource(resource, schema); err != nil {
		return nil, fmt.Errorf("cannot use values.schema.json of chart %s: %w", c.Name(), err)
	}
	compiled, err := compiler.Compile(resource)
	if err != nil {
		return nil, fmt.Errorf("cannot use values.schema.json of chart %s: %w", c.Name(), err)
	}
	s.Store(string(c.Schema), compiled)
	return compiled, nil
}

// misfits returns a line for each value that does not fit, as a user writes its name: a.b. No line quotes
// a value, which may be a Secret's (TRUST.md R5).
func misfits(err error) string {
	failed, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return "\n  a schema cannot be applied"
	}
	var lines strings.Builder
	for _, cause := range failed.Causes {
		describe(&lines, cause)
	}
	return lines.String()
}

func describe(lines *strings.Builder, failed *jsonschema.ValidationError) {
	why := wrong(failed.ErrorKind)
	if at := strings.Join(failed.InstanceLocation, "."); at != "" && why != "" {
		why = at + ": " + why
	}
	if why != "" {
		lines.WriteString("\n  " + why)
	}
	for _, cause := range failed.Causes {
		describe(lines, cause)
	}
}

// got is the number that a message quotes.
var got = regexp.MustCompile(`got \S+, want`)

// wrong returns why a value does not fit, by its schema alone; empty for a schema that only groups
// others.
func wrong(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference:
		return ""
	case *kind.Pattern:
		return fmt.Sprintf("does not match pattern '%s'", k.Want)
	case *kind.Format:
		return "is not a valid " + k.Want
	case *kind.Minimum, *kind.Maximum, *kind.ExclusiveMinimum, *kind.ExclusiveMaximum, *kind.MultipleOf:
		return got.ReplaceAllString(text(k), "want")
	case *kind.Type, *kind.Enum, *kind.Const, *kind.Required, *kind.AdditionalProperties, *kind.FalseSchema, *kind.Dependency,
		*kind.DependentRequired, *kind.MinItems, *kind.MaxItems, *kind.MinLength, *kind.MaxLength, *kind.MinProperties,
		*kind.MaxProperties, *kind.AdditionalItems, *kind.UniqueItems, *kind.AnyOf, *kind.AllOf, *kind.OneOf, *kind.Not:
		return text(k) // types, keys, counts, and what the schema wants
	}
	return "does not fit keyword " + strings.Join(k.KeywordPath(), ".")
}

// text returns the library's message about a value, without its location.
func text(k jsonschema.ErrorKind) string {
	_, why, _ := strings.Cut((&jsonschema.ValidationError{ErrorKind: k}).Error(), ": ")
	return why
}
