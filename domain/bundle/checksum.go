package bundle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ChecksumKey is the annotation of a pod template that says what its pods were started with.
const ChecksumKey = "orcon.tengu.io/config-checksum"

// rolling are the kinds that replace their pods when their template changes.
//
//nolint:gochecknoglobals // a table
var rolling = []string{"Deployment.apps", "StatefulSet.apps", "DaemonSet.apps"}

// Checksummed returns the objects with a digest of all that their pods read of the bundle's
// own ConfigMaps and Secrets in the pod templates, so that a change there replaces the pods
// as a change of the template does. Jobs stay as they are: they would run again. namespace is
// that of objects that name none. The objects of the argument are not changed.
//
// A user who may read a template can try out guesses of the content: short Secrets that are all that a workload reads
// should come from elsewhere than the bundle, as passwords should anyway.
func Checksummed(objects []Object, namespace string) []Object {
	in := func(id ID) ID {
		if id.Namespace == "" {
			id.Namespace = namespace
		}
		return id
	}
	held := map[ID]string{}
	for _, o := range objects {
		if kind := o.ID().kind(); kind == "ConfigMap" || kind == "Secret" {
			held[in(o.ID())] = o.held()
		}
	}
	out := slices.Clone(objects)
	for i, o := range out {
		if kind := o.ID().kind(); slices.Contains(rolling, kind) {
			out[i] = o.checksummed(in(o.ID()), held)
		}
	}
	return out
}

// held is all that a ConfigMap or Secret holds, in one form for the same values.
func (o Object) held() string {
	text, err := Object{"data": o.At("data"), "binaryData": o.At("binaryData"), "stringData": o.At("stringData")}.Canonical()
	if err != nil {
		return "" // nothing that was read from JSON is like that
	}
	return string(text)
}

// checksummed returns a workload with the digest of those held objects that it reads.
func (o Object) checksummed(id ID, held map[ID]string) Object {
	path := podSpecs[id.kind()]
	p := podReadings{workload: id, optional: true}
	p.read(Object{"spec": o.At(path...)}, "")
	var all []string
	for _, r := range p.readings {
		if text, own := held[r.ID]; own {
			all = append(all, fmt.Sprintf("%s %q", r.ID, text))
		}
	}
	if len(all) == 0 {
		return o
	}
	slices.Sort(all)
	template := slices.Concat(path[:len(path)-1], []string{"metadata", "annotations", ChecksumKey})
	return with(o, digest(strings.Join(slices.Compact(all), "\n")), template...)
}

// with returns the fields with a value at a path; what is on the way is copied.
func with(fields map[string]any, value any, path ...string) map[string]any {
	fields = maps.Clone(fields)
	if fields == nil {
		fields = map[string]any{}
	}
	if len(path) > 1 {
		below, _ := fields[path[0]].(map[string]any)
		value = with(below, value, path[1:]...)
	}
	fields[path[0]] = value
	return fields
}
