package openshift

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// Renderer names these rules with their version: another version may process otherwise.
const Renderer = "openshift-template 1"

// Template is a Template whose fields have been checked.
type Template struct {
	// Parameters are in the order of the Template; each has a name of its own.
	Parameters []Parameter

	labels  map[string]string
	objects []map[string]any
}

// Is reports whether a manifest is a Template, of the API group or of the older v1.
func Is(fields map[string]any) bool {
	return fields["kind"] == "Template" && (fields["apiVersion"] == "template.openshift.io/v1" || fields["apiVersion"] == "v1")
}

// Parse reads the fields of a manifest for which Is holds. The error lists everything that is wrong, each with
// its path. Unknown fields are ignored, as OpenShift ignores them, unless they look like a misspelt one.
func Parse(fields map[string]any) (Template, error) {
	t := Template{labels: map[string]string{}}
	failed := []error{misspelt("", fields, "objects", "parameters", "labels")}
	parameters, err := list(fields, "parameters")
	failed = append(failed, err)
	declared := map[string]bool{}
	for i, each := range parameters {
		path := fmt.Sprintf("parameters[%d]", i)
		p, err := parseParameter(path, each)
		if err == nil && declared[p.Name] {
			err = fmt.Errorf("%s.name is %s again: keep one of the two", path, p.Name)
		}
		failed = append(failed, err)
		declared[p.Name] = true
		t.Parameters = append(t.Parameters, p)
	}
	t.objects, err = list(fields, "objects")
	failed = append(failed, err)
	t.labels, err = labels(fields["labels"])
	if err := errors.Join(append(failed, err)...); err != nil {
		return Template{}, err
	}
	return t, nil
}

// labels reads the labels that each object gets.
func labels(value any) (map[string]string, error) {
	fields, ok := value.(map[string]any)
	if !ok && value != nil {
		return nil, fmt.Errorf("labels is %s: write a map of names and values", described(value))
	}
	var failed []error
	all := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		text, err := text("labels."+name, fields[name])
		failed = append(failed, err)
		all[name] = text
	}
	return all, errors.Join(failed...)
}

// list reads a list of maps; a missing one is empty.
func list(fields map[string]any, name string) ([]map[string]any, error) {
	items, ok := fields[name].([]any)
	if !ok && fields[name] != nil {
		return nil, fmt.Errorf("%s is %s: write a list", name, described(fields[name]))
	}
	var failed []error
	var all []map[string]any
	for i, item := range items {
		each, ok := item.(map[string]any)
		if !ok {
			failed = append(failed, fmt.Errorf("%s[%d] is %s: write a map", name, i, described(item)))
			continue
		}
		all = append(all, each)
	}
	if len(failed) > 0 {
		return nil, errors.Join(failed...)
	}
	return all, nil
}

// text reads a string; null is an empty one.
func text(path string, value any) (string, error) {
	text, ok := value.(string)
	if !ok && value != nil {
		return "", fmt.Errorf("%s is %s: write a string, in quotes", path, described(value))
	}
	return text, nil
}

// misspelt reports fields whose names are near to a known one, and which would be ignored otherwise.
func misspelt(path string, fields map[string]any, known ...string) error {
	var failed []error
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		nearest := spelling.Nearest(name, known)
		if nearest != "" && nearest != name {
			failed = append(failed, fmt.Errorf("%s is unknown: write %s", join(path, name), nearest))
		}
	}
	return errors.Join(failed...)
}

// join appends a field's name to the path of a map.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// described names the type of a value.
func described(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	}
	return "a number"
}
