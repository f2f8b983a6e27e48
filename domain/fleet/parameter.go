package fleet

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Origin names the source of a parameter's value.
type Origin string

// The origins, weakest first; a template's own default is weaker than all.
const (
	FromEnvironment Origin = "environment parameters"
	FromCommit      Origin = "commit of the upstream"
	FromSet         Origin = "spec.parameters"
	FromProcess     Origin = "process environment"
	FromFlag        Origin = "flag"
)

// Parameter is a template parameter that a member passes on.
type Parameter struct {
	Name   string
	Value  string
	Origin Origin
}

// Parameters are the values that a set has for template parameters.
type Parameters struct {
	// Tag is the tag of the image by its ImageRef; "" for none.
	Tag string
	// Set is spec.parameters.
	Set map[string]string
	// Process are the ProcessParameters of a manager; nil elsewhere.
	Process map[string]string
	// Flags of the command line.
	Flags map[string]string
}

// aware lists the variables that the reference chart gives to an integration that is environmentAware, and that are
// parameters of its chart. IMAGE and IMAGE_TAG are left out: they name the program of this process, and not the integrations'.
//
//nolint:gochecknoglobals // a table
var aware = []string{
	"BUSYBOX_IMAGE", "BUSYBOX_IMAGE_PULL_POLICY", "BUSYBOX_IMAGE_TAG", "CLOUDWATCH_SECRET", "ENVIRONMENT_NAME",
	"FLUENTD_IMAGE", "FLUENTD_IMAGE_PULL_POLICY", "FLUENTD_IMAGE_TAG",
	"INTERNAL_CERTIFICATES_IMAGE", "INTERNAL_CERTIFICATES_IMAGE_PULL_POLICY", "INTERNAL_CERTIFICATES_IMAGE_TAG",
}

// ProcessParameters returns the parameters that a manager, which is an integration itself, passes on from its environment
// (FLEET-DESIGN.md 15). Other variables are about the process.
func ProcessParameters(getenv func(string) string) map[string]string {
	all := map[string]string{}
	for _, name := range aware {
		if v := getenv(name); v != "" {
			all[name] = v
		}
	}
	return all
}

// layer is the values of one origin.
type layer struct {
	origin Origin
	values map[string]string
}

// layers returns the values by origin, weakest first.
func (p Parameters) layers() []layer {
	commit := map[string]string{}
	if p.Tag != "" {
		commit[imageTag] = p.Tag
	}
	return []layer{{FromCommit, commit}, {FromSet, p.Set}, {FromProcess, p.Process}, {FromFlag, p.Flags}}
}

// Parameters returns the parameters that the member passes on, by name.
func (m Member) Parameters(p Parameters) ([]Parameter, error) {
	all := map[string]Parameter{}
	for name, v := range m.Namespace.Environment.Parameters {
		if name == repositories {
			continue
		}
		text, err := plain(v)
		if err != nil {
			return nil, fmt.Errorf("cannot pass on parameter %q of environment %q: %w", name, m.Namespace.Environment.Name, err)
		}
		all[name] = Parameter{name, text, FromEnvironment}
	}
	for _, layer := range p.layers() {
		for name, v := range layer.values {
			all[name] = Parameter{name, v, layer.origin}
		}
	}
	var sorted []Parameter
	for _, name := range slices.Sorted(maps.Keys(all)) {
		sorted = append(sorted, all[name])
	}
	return sorted, nil
}

// plain returns the text of a parameter: templates know texts only.
func plain(v any) (string, error) {
	if text, ok := v.(string); ok {
		return text, nil
	}
	text, err := json.Marshal(v)
	return string(text), err
}
