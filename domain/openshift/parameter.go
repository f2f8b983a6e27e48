package openshift

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// names are the names that a reference can have.
var names = regexp.MustCompile(`^[a-zA-Z0-9_]+$`)

// Parameter is a parameter that a Template declares.
type Parameter struct {
	Name string
	// Value is the default; "" is none.
	Value string
	// Generate names what would generate a value that is missing; "" for nothing.
	Generate string
	// Required refuses an empty value.
	Required bool
}

// parseParameter reads the parameter at a path.
func parseParameter(path string, fields map[string]any) (Parameter, error) {
	name, unnamed := text(join(path, "name"), fields["name"])
	value, unvalued := text(join(path, "value"), fields["value"])
	generate, ungenerated := text(join(path, "generate"), fields["generate"])
	required, ok := fields["required"].(bool)
	var unrequired error
	if !ok && fields["required"] != nil {
		unrequired = fmt.Errorf("%s.required is %s: write true or false", path, described(fields["required"]))
	}
	misspelt := misspelt(path, fields, "name", "value", "generate", "from", "required")
	if err := errors.Join(unnamed, unvalued, ungenerated, unrequired, misspelt); err != nil {
		return Parameter{}, err
	}
	if !names.MatchString(name) {
		return Parameter{}, fmt.Errorf("%s.name is %q: use letters, digits and _, so that ${NAME} can refer to it", path, name)
	}
	return Parameter{Name: name, Value: value, Generate: generate, Required: required}, nil
}

// values returns the value of each parameter: the given one, else the default. A value that is given empty
// counts, except for a required parameter. The error lists all parameters that lack a value or are unknown.
func (t Template) values(given map[string]string) (substitution, error) {
	all := substitution{}
	var known, required, generated []string
	for _, p := range t.Parameters {
		value, isGiven := given[p.Name]
		if !isGiven {
			value = p.Value
		}
		switch {
		case value == "" && p.Required:
			required = append(required, p.Name)
		case value == "" && p.Generate != "" && !isGiven:
			generated = append(generated, p.Name)
		}
		all[p.Name] = value
		known = append(known, p.Name)
	}
	failed := []error{lacking("a value is required for", required),
		lacking("a value is not generated, because it would differ each time, for", generated)}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, ok := all[name]; !ok {
			failed = append(failed, unknown(name, known))
		}
	}
	return all, errors.Join(failed...)
}

// lacking reports parameters without a value; nil for none.
func lacking(why string, names []string) error {
	const cure = "--parameter NAME=VALUE, or spec.render.parameters"
	switch len(names) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%s parameter %s: give it one: %s", why, names[0], cure)
	}
	return fmt.Errorf("%s parameters %s: give each one: %s", why, strings.Join(names, ", "), cure)
}

// unknown reports a value for a parameter that the Template does not declare.
func unknown(name string, known []string) error {
	nearest := spelling.Nearest(name, known)
	switch {
	case nearest != "":
		return fmt.Errorf("parameter %s is unknown: use %s", name, nearest)
	case len(known) == 0:
		return fmt.Errorf("parameter %s is unknown: remove it, the Template has no parameters", name)
	}
	return fmt.Errorf("parameter %s is unknown: remove it, or use one of %s", name, strings.Join(known, ", "))
}
