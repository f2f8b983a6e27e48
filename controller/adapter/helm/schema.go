package helm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// resource is the name under which the library knows a chart's schema.
const resource = "orcon://chart/values.schema.json"

// nothing is a loader that loads nothing.
type nothing struct{}

var errLoad = errors.New("a schema may not refer to anything outside the chart: copy it into the schema, below $defs")

// Load implements jsonschema.URLLoader.
func (nothing) Load(string) (any, error) { return nil, errLoad }

// validate checks the merged values of a chart, and of those in it, by their schemas.
func validate(c *chart.Chart, values map[string]any) error {
	err := validateOne(c, values)
	failed := []error{err}
	for _, d := range c.Dependencies() {
		if of, ok := values[d.Name()].(map[string]any); ok {
			failed = append(failed, validate(d, of))
		}
	}
	return errors.Join(failed...)
}

func validateOne(c *chart.Chart, values map[string]any) error {
	if c.Schema == nil {
		return nil
	}
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(c.Schema))
	if err != nil {
		return fmt.Errorf("cannot read values.schema.json of chart %s: %w", c.Name(), err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(nothing{})
	if err := compiler.AddResource(resource, schema); err != nil {
		return fmt.Errorf("cannot use values.schema.json of chart %s: %w", c.Name(), err)
	}
	compiled, err := compiler.Compile(resource)
	if err != nil {
		return fmt.Errorf("cannot use values.schema.json of chart %s: %w", c.Name(), err)
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
		return fmt.Errorf("cannot use the values for chart %s: they do not fit its values.schema.json:%s", c.Name(), misfits(err))
	}
	return nil
}

// misfits returns a line for each value that does not fit, as a user writes its name: a.b. The library's
// first line names the schema, and the others begin with "- at '/a/b'".
func misfits(err error) string {
	var text strings.Builder
	lines := strings.Split(err.Error(), "\n")
	for _, line := range lines[1:] {
		at, why, located := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "- at '"), "': ")
		if !located {
			at, why = "", strings.TrimSpace(line)
		}
		if at = strings.ReplaceAll(strings.TrimPrefix(at, "/"), "/", "."); at != "" {
			why = at + ": " + why
		}
		text.WriteString("\n  " + why)
	}
	return text.String()
}
