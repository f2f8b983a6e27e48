package program

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/tooltype"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// TemplateVersion is a frozen template, given by hand.
type TemplateVersion struct {
	Name string
	// Image must name a digest.
	Image string
	// Content is a digest: the keeper copies it into the working directory. "" is for a program whose image has it.
	Content  string
	Contract string
	Type     tooltype.Type
	Safety   job.Safety
	Schema   Schema
	// Sensitive are the names of parameters that reach the run as files.
	Sensitive []string
	// SensitiveOutputs are the names of outputs that people must not read.
	SensitiveOutputs []string
	// Fixed are values that no Workspace gives; they are not in the schema.
	Fixed   map[string]any
	Actions map[string]run.Action
	Env     map[string]string
	run.Files
}

// byDigest matches an image that can never change.
var byDigest = regexp.MustCompile(`^[^@\s]+@sha256:[0-9a-f]{64}$`)

// Check returns everything that is wrong with a template.
func (t TemplateVersion) Check() error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("cannot use template "+t.Name+": "+format, args...))
	}
	if !byDigest.MatchString(t.Image) {
		fault("image %q names no digest: write NAME@sha256:… so that a run is the same tomorrow", t.Image)
	}
	if t.Contract != run.Contract {
		fault("contract %q is unknown: use %s", t.Contract, run.Contract)
	}
	if _, err := job.ParseSafety(string(t.Safety)); err != nil {
		fault("%w", err)
	}
	if _, err := tooltype.Parse(string(t.Type)); err != nil {
		fault("%w", err)
	}
	if len(t.Actions) == 0 {
		fault("it has no action: add one, such as deploy")
	}
	for _, name := range slices.Sorted(maps.Keys(t.Actions)) {
		if len(t.Actions[name].Entrypoint) == 0 {
			fault("action %s has no entrypoint: name the program", name)
		}
	}
	for _, pattern := range slices.Concat(t.Exclude, t.Rescue) {
		_, err := path.Match(pattern, "")
		if err != nil || strings.HasPrefix(pattern, "/") || slices.Contains(strings.Split(pattern, "/"), "..") {
			fault("pattern %q of exclude or rescue must be a glob below /state or /work", pattern)
		}
	}
	t.checkSensitive(fault)
	return errors.Join(faults...)
}

// checkSensitive reports what is wrong with the sensitive parameters.
func (t TemplateVersion) checkSensitive(fault func(format string, args ...any)) {
	for _, name := range t.Sensitive {
		if known := t.Schema.Names(); !slices.Contains(known, name) {
			fault("sensitive parameter %q is not in the schema%s", name, suggestion(name, known))
		}
		if _, readable := t.Schema.Defaults()[name]; readable {
			fault("sensitive parameter %q has a default, which all can read: remove the default", name)
		}
	}
}

// Freeze returns the input of a Run of an action with the parameters and the secrets of its Workspace. Values of sensitive
// parameters are not part of it; patterns of the template's type are.
func (t TemplateVersion) Freeze(action string, parameters map[string]any, secrets []run.SecretFile) (run.Input, error) {
	a, ok := t.Actions[action]
	if !ok {
		known := slices.Sorted(maps.Keys(t.Actions))
		return run.Input{}, fmt.Errorf("cannot run %s: it has no action %q%s: it has %s", t.Name, action, suggestion(action, known),
			strings.Join(known, ", "))
	}
	values, err := t.values(parameters, secrets)
	if err != nil {
		return run.Input{}, fmt.Errorf("cannot run %s: %w", t.Name, err)
	}
	return run.Input{
		Type: t.Type, Action: action, Safety: t.Safety, Artifact: run.Artifact{Image: t.Image, Content: t.Content},
		Entrypoint: a.Entrypoint, Args: a.Args, Contract: t.Contract,
		Parameters: values, Env: t.Env, Steps: run.Steps{Destroy: t.Actions[run.Destroy], Planned: t.Actions[run.Planned(action)]},
		Surroundings: run.Surroundings{Confidential: run.Confidential{Secrets: secrets, SensitiveOutputs: t.SensitiveOutputs}},
		Files: run.Files{
			Exclude: with(t.Exclude, t.Type.Exclude()), Rescue: with(t.Rescue, t.Type.Rescue()), RestoreLogs: t.RestoreLogs,
		},
	}, nil
}

// members returns the members of an object that are not null, also of objects in it: null is what an object does not have,
// as for the API server, which does not store it.
func members(object map[string]any) map[string]any {
	all := map[string]any{}
	for name, value := range object {
		if value != nil {
			all[name] = pruned(value)
		}
	}
	return all
}

// pruned returns a value whose objects have no member that is null.
func pruned(value any) any {
	switch v := value.(type) {
	case map[string]any:
		return members(v)
	case []any:
		all := make([]any, len(v))
		for i, one := range v {
			all[i] = pruned(one)
		}
		return all
	}
	return value
}

// values returns the values of a Run: those of the schema's defaults, of the Workspace, and of the template.
func (t TemplateVersion) values(parameters map[string]any, secrets []run.SecretFile) (map[string]any, error) {
	parameters = members(parameters)
	for _, name := range slices.Sorted(maps.Keys(t.Fixed)) {
		if _, given := parameters[name]; given {
			return nil, fmt.Errorf("parameter %q is fixed by the template: remove it", name)
		}
	}
	values := t.Schema.Defaults()
	maps.Copy(values, parameters)
	var faults []error
	for _, name := range t.Sensitive {
		file, err := fileOf(name, parameters[name], secrets)
		faults = append(faults, err)
		if file != "" {
			values[name] = map[string]any{keyFile: folder + file}
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	if err := t.Schema.Check(values, t.Sensitive); err != nil {
		return nil, err
	}
	maps.Copy(values, t.Fixed)
	return values, nil
}

// with returns patterns and those of a type that are not among them.
func with(patterns, more []string) []string {
	for _, one := range more {
		if !slices.Contains(patterns, one) {
			patterns = append(slices.Clone(patterns), one)
		}
	}
	return patterns
}

// suggestion returns the nearest known name as a question.
func suggestion(name string, known []string) string {
	if near := spelling.Nearest(name, known); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}
