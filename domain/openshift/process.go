package openshift

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Process returns the Template's objects, in its order, with the given values for its parameters. Neither the
// Template nor given changes. The objects share no map with each other or with the Template.
func (t Template) Process(given map[string]string) ([]map[string]any, error) {
	s, err := t.values(given)
	if err != nil {
		return nil, err
	}
	labels, err := s.labels(t.labels)
	failed := []error{err}
	var objects []map[string]any
	for i, each := range t.objects {
		path := fmt.Sprintf("objects[%d]", i)
		object, err := s.fields(path, unplaced(each))
		failed = append(failed, err, single(path, object))
		objects = append(objects, labelled(object, labels))
	}
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	return objects, nil
}

// single refuses a list of objects, whose items would keep their namespaces and get no labels.
func single(path string, object map[string]any) error {
	kind, _ := object["kind"].(string)
	if _, ok := object["items"].([]any); ok && strings.HasSuffix(kind, "List") {
		return fmt.Errorf("%s is a %s: write its items as objects of the Template", path, kind)
	}
	return nil
}

// unplaced returns an object without the namespace that it names, unless that refers to a parameter.
func unplaced(object map[string]any) map[string]any {
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		return object
	}
	if namespace, ok := metadata["namespace"].(string); ok && reference.MatchString(namespace) {
		return object
	}
	kept := maps.Clone(metadata)
	delete(kept, "namespace")
	result := maps.Clone(object)
	result["metadata"] = kept
	return result
}

// labels returns the labels of a Template with values in their names and values.
func (s substitution) labels(all map[string]string) (map[string]string, error) {
	var failed []error
	result := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		key := s.text(name)
		if _, taken := result[key]; taken {
			failed = append(failed, collision("labels", key))
		}
		result[key] = s.text(all[name])
	}
	return result, errors.Join(failed...)
}

// labelled returns an object with more labels, over those that it has.
func labelled(object map[string]any, labels map[string]string) map[string]any {
	if len(labels) == 0 {
		return object
	}
	metadata, _ := object["metadata"].(map[string]any)
	own, _ := metadata["labels"].(map[string]any)
	all := map[string]any{}
	maps.Copy(all, own)
	for name, value := range labels {
		all[name] = value
	}
	result, described := map[string]any{}, map[string]any{}
	maps.Copy(result, object)
	maps.Copy(described, metadata)
	described["labels"] = all
	result["metadata"] = described
	return result
}
