package rendering

import (
	"strconv"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// fields is a mapping in an object.
type fields = map[string]any

// podSpecs are the paths of the specs of pods, by kind.
//
//nolint:gochecknoglobals // a table
var podSpecs = map[string][]string{
	"Pod": {"spec"}, "Job": {"spec", "template", "spec"}, "CronJob": {"spec", "jobTemplate", "spec", "template", "spec"},
	"Deployment": {"spec", "template", "spec"}, "StatefulSet": {"spec", "template", "spec"}, "DaemonSet": {"spec", "template", "spec"},
	"ReplicaSet": {"spec", "template", "spec"}, "ReplicationController": {"spec", "template", "spec"},
	"DeploymentConfig": {"spec", "template", "spec"},
}

// podSpec returns the spec of an object's pods; nil if it has none.
func podSpec(o bundle.Object) fields {
	path, has := podSpecs[o.ID().Kind]
	if !has {
		return nil
	}
	spec, _ := o.At(path...).(fields)
	return spec
}

// items returns the mappings of a list.
func items(list any) []fields {
	all, _ := list.([]any)
	var found []fields
	for _, item := range all {
		if f, ok := item.(fields); ok {
			found = append(found, f)
		}
	}
	return found
}

// text returns a string of a mapping; "" if there is none.
func text(f fields, name string) string {
	value, _ := f[name].(string)
	return value
}

// number returns a scalar that is not a text as YAML writes it, with the name of its type; "" for others.
func number(value any) (written, kind string) {
	switch v := value.(type) {
	case bool:
		return strconv.FormatBool(v), "boolean"
	case int64:
		return strconv.FormatInt(v, 10), "number"
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), "number"
	}
	return "", ""
}
