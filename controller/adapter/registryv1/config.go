package registryv1

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// Config customizes the deployments of an operator, as the deploymentConfig of a lifecycle manager does (CONTENT.md X7).
// Its zero value changes nothing.
type Config struct{ settings map[string]any }

// The settings of a deploymentConfig: lists of maps, and maps.
//
//nolint:gochecknoglobals // tables
var (
	configLists = []string{"env", "envFrom", "volumes", "volumeMounts", "tolerations"}
	configMaps  = []string{"resources", "nodeSelector", "affinity", "annotations"}
)

// ParseConfig reads the values of an operator, which may have deploymentConfig and nothing else.
func ParseConfig(values map[string]any) (Config, error) {
	c, err := parseConfig(values)
	if err != nil {
		return Config{}, fmt.Errorf("cannot use the values of the operator: %w", err)
	}
	return c, nil
}

func parseConfig(values map[string]any) (Config, error) {
	const key = "deploymentConfig"
	if err := known(values, key); err != nil || values[key] == nil {
		return Config{}, err
	}
	settings, ok := values[key].(map[string]any)
	if !ok {
		return Config{}, fmt.Errorf("%s is not a map of settings", key)
	}
	if err := known(settings, slices.Concat(configLists, configMaps)...); err != nil {
		return Config{}, fmt.Errorf("%s: %w", key, err)
	}
	c := Config{settings: map[string]any{}}
	for name, value := range settings {
		_, isMap := value.(map[string]any)
		switch isList := slices.Contains(configLists, name); {
		case value == nil:
			continue
		case isList && !isMaps(value):
			return Config{}, fmt.Errorf("%s.%s is not a list of maps: write - name: value", key, name)
		case !isList && !isMap:
			return Config{}, fmt.Errorf("%s.%s is not a map: write name: value", key, name)
		}
		c.settings[name] = value
	}
	return c, nil
}

// known refuses keys that are none of some names.
func known(settings map[string]any, names ...string) error {
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		if slices.Contains(names, key) {
			continue
		}
		if near := spelling.Nearest(key, names); near != "" {
			return fmt.Errorf("%q is unknown: did you mean %q?", key, near)
		}
		return fmt.Errorf("%q is unknown: the settings are %s", key, strings.Join(names, ", "))
	}
	return nil
}

// isMaps reports whether a value is a list of maps.
func isMaps(value any) bool {
	all, ok := value.([]any)
	return ok && !slices.ContainsFunc(all, func(item any) bool { _, is := item.(map[string]any); return !is })
}

// list returns a list of settings, and table a map of them.
func (c Config) list(name string) []any {
	all, _ := c.settings[name].([]any)
	return all
}

func (c Config) table(name string) map[string]any {
	all, _ := c.settings[name].(map[string]any)
	return all
}

// apply customizes a deployment, whose parts it copies.
func (c Config) apply(deployment bundle.Object) {
	spec := at(deployment, "spec")
	template := at(spec, "template")
	pod := at(template, "spec")
	added(pod, "volumes", c.list("volumes"))
	added(pod, "tolerations", c.list("tolerations"))
	if selector := c.table("nodeSelector"); selector != nil {
		pod["nodeSelector"] = selector
	}
	if affinity := c.table("affinity"); affinity != nil {
		own := at(pod, "affinity")
		maps.Copy(own, affinity)
		pod["affinity"] = own
	}
	if containers, _ := pod["containers"].([]any); len(containers) > 0 {
		pod["containers"] = c.contained(containers)
	}
	for _, object := range []map[string]any{deployment, template} {
		if annotations := c.table("annotations"); annotations != nil {
			metadata := at(object, "metadata")
			all := maps.Clone(annotations)
			maps.Copy(all, at(metadata, "annotations"))
			metadata["annotations"] = all
			object["metadata"] = metadata
		}
	}
	template["spec"], spec["template"], deployment["spec"] = pod, template, spec
}

// contained returns containers as they are customized.
func (c Config) contained(containers []any) []any {
	all := make([]any, len(containers))
	for i, one := range containers {
		container, _ := one.(map[string]any)
		container = maps.Clone(container)
		if env := c.list("env"); env != nil {
			container["env"] = overridden(container["env"], env)
		}
		added(container, "envFrom", c.list("envFrom"))
		added(container, "volumeMounts", c.list("volumeMounts"))
		if resources := c.table("resources"); resources != nil {
			container["resources"] = resources
		}
		all[i] = container
	}
	return all
}

// added appends to a list of an object those of other items that the list lacks.
func added(object map[string]any, name string, more []any) {
	own, _ := object[name].([]any)
	all := slices.Clone(own)
	for _, item := range more {
		if !slices.ContainsFunc(all, func(other any) bool { return alike(item, other) }) {
			all = append(all, item)
		}
	}
	if len(more) > 0 {
		object[name] = all
	}
}

// alike reports whether two values are the same in JSON: values of a file and of a bundle have numbers of other types.
func alike(a, b any) bool {
	var values [2]any
	for i, v := range []any{a, b} {
		text, err := json.Marshal(v)
		if err != nil || json.Unmarshal(text, &values[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}

// overridden returns variables, with others in place of those of the same name.
func overridden(own any, more []any) []any {
	list, _ := own.([]any)
	all := slices.Clone(list)
	for _, item := range more {
		variable, _ := item.(map[string]any)
		i := slices.IndexFunc(all, func(other any) bool {
			o, _ := other.(map[string]any)
			return o["name"] == variable["name"]
		})
		if i < 0 {
			all = append(all, item)
		} else {
			all[i] = item
		}
	}
	return all
}
