package job

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/program"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// ToTemplate returns a template that Runs can be frozen from. The error names everything that is wrong with it.
func ToTemplate(o *v1alpha1.JobTemplate) (program.TemplateVersion, error) {
	if o.Spec.Build != nil {
		return program.TemplateVersion{}, fmt.Errorf("cannot use template %s: it is built, and its versions are run", o.Name)
	}
	t, err := toProgram(o.Name, o.Spec.JobProgram)
	return t, errors.Join(err, t.Check())
}

// ToVersion returns a frozen template that Runs can be frozen from. The error names everything that is wrong with it.
func ToVersion(o *v1alpha1.JobTemplateVersion) (program.TemplateVersion, error) {
	t, err := toProgram(o.Name, o.Spec.JobProgram)
	fixed, unread := ToParameters("spec.fixed", o.Spec.Fixed)
	t.Content, t.Fixed = o.Spec.Content, fixed
	if o.Spec.Outputs != nil {
		outputs, wrong := program.ParseSchema(o.Spec.Outputs.Raw)
		t.SensitiveOutputs = outputs.Sensitive()
		err = errors.Join(err, within("cannot use template "+o.Name+": spec.outputs", wrong))
	}
	return t, errors.Join(err, unread, t.Check())
}

// toProgram returns the program of a template or a version.
func toProgram(name string, p v1alpha1.JobProgram) (program.TemplateVersion, error) {
	t := program.TemplateVersion{
		Name: name, Image: p.Image, Contract: p.Contract, Files: toFiles(p),
	}
	r := reader{}
	var err error
	t.Safety, err = toWord("spec.safety", p.Safety, safeties)
	r.fault(err)
	t.Type, err = toWord("spec.type", p.Type, types)
	r.fault(err)
	if p.Parameters != nil {
		t.Schema, err = program.ParseSchema(p.Parameters.Raw)
		r.fault(within("spec.parameters", err))
		t.Sensitive = t.Schema.Sensitive()
	}
	t.Env, err = toEnv("spec.env", p.Env)
	r.fault(err)
	t.Actions, err = toActions(p.Actions)
	r.fault(err)
	for i, fault := range r.faults {
		r.faults[i] = fmt.Errorf("cannot use template %s: %w", name, fault)
	}
	return t, errors.Join(r.faults...)
}

// within adds a field to an error; nil stays nil.
func within(field string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", field, err)
}

// toActions returns actions by their names; nil for none.
func toActions(all []v1alpha1.JobAction) (map[string]run.Action, error) {
	var actions map[string]run.Action
	for i, a := range all {
		if actions == nil {
			actions = map[string]run.Action{}
		}
		if _, twice := actions[a.Name]; twice {
			return nil, fmt.Errorf("%s: action %s is there twice: rename one", at("spec.actions", i), a.Name)
		}
		actions[a.Name] = run.Action{Entrypoint: some(a.Entrypoint), Args: some(a.Args)}
	}
	return actions, nil
}

// ToSafety returns the safety of a program, without a look at the rest of it; Exclusive for a word that is unknown.
func ToSafety(p v1alpha1.JobProgram) job.Safety {
	if s, err := toWord("spec.safety", p.Safety, safeties); err == nil {
		return s
	}
	return job.Exclusive
}

// ToParameters returns the values of parameters; nil for none. Numbers keep all their digits.
func ToParameters(field string, raw *runtime.RawExtension) (map[string]any, error) {
	if raw == nil || len(bytes.TrimSpace(raw.Raw)) == 0 {
		return nil, nil //nolint:nilnil // no parameters
	}
	decoder := json.NewDecoder(bytes.NewReader(raw.Raw))
	decoder.UseNumber()
	var values map[string]any
	if err := decoder.Decode(&values); err != nil {
		return nil, fmt.Errorf("%s: cannot read the parameters: %w: write an object, NAME: VALUE", field, err)
	}
	return values, nil
}

// toFiles returns which files of a program's runs are kept.
func toFiles(p v1alpha1.JobProgram) run.Files {
	return run.Files{Exclude: some(p.Exclude), Rescue: some(p.Rescue), RestoreLogs: restores(p.Logs)}
}

// restores reports whether the log files of the last run are restored.
func restores(l *v1alpha1.JobLogs) bool { return l != nil && l.Restore == v1alpha1.RestoreAlways }

// ToSecrets returns the secrets of a run; nil for none.
func ToSecrets(all []v1alpha1.JobSecret) (secrets []run.SecretFile) {
	for _, s := range all {
		f := run.SecretFile{Name: s.Name, Secret: s.Secret, Key: s.Key}
		if s.JoinToken != nil {
			f.JoinToken = s.JoinToken.Node
		}
		secrets = append(secrets, f)
	}
	return secrets
}

// forSecrets returns the secrets of a run; nil for none.
func forSecrets(all []run.SecretFile) (secrets []v1alpha1.JobSecret) {
	for _, s := range all {
		o := v1alpha1.JobSecret{Name: s.Name, Secret: s.Secret, Key: s.Key}
		if s.JoinToken != "" {
			o.JoinToken = &v1alpha1.JobJoinToken{Node: s.JoinToken}
		}
		secrets = append(secrets, o)
	}
	return secrets
}

// toEnv returns variables; nil for none.
func toEnv(field string, all []v1alpha1.JobVariable) (map[string]string, error) {
	var env map[string]string
	for i, v := range all {
		if env == nil {
			env = map[string]string{}
		}
		if _, twice := env[v.Name]; twice {
			return nil, fmt.Errorf("%s: variable %s is there twice: remove one", at(field, i), v.Name)
		}
		env[v.Name] = v.Value
	}
	return env, nil
}

// forEnv returns variables by name.
func forEnv(env map[string]string) []v1alpha1.JobVariable {
	var all []v1alpha1.JobVariable
	for name, value := range env {
		all = append(all, v1alpha1.JobVariable{Name: name, Value: value})
	}
	slices.SortFunc(all, func(a, b v1alpha1.JobVariable) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// some returns a copy of a list; nil for an empty one, as it is after it was stored.
func some(all []string) []string {
	if len(all) == 0 {
		return nil
	}
	return slices.Clone(all)
}
