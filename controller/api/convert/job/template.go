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
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// ToTemplate returns a template that Runs can be frozen from. The error names everything that is wrong with it.
func ToTemplate(o *v1alpha1.JobTemplate) (run.TemplateVersion, error) {
	t := run.TemplateVersion{
		Name: o.Name, Image: o.Spec.Image, Contract: o.Spec.Contract, Exclude: some(o.Spec.Exclude), Rescue: some(o.Spec.Rescue),
		RestoreLogs: restores(o.Spec.Logs),
	}
	var faults []error
	fault := func(err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf("cannot use template %s: %w", o.Name, err))
		}
	}
	var err error
	t.Safety, err = toWord("spec.safety", o.Spec.Safety, safeties)
	fault(err)
	t.Type, err = toWord("spec.type", o.Spec.Type, types)
	fault(err)
	if o.Spec.Parameters != nil {
		if t.Schema, err = run.ParseSchema(o.Spec.Parameters.Raw); err != nil {
			fault(fmt.Errorf("spec.parameters: %w", err))
		}
	}
	t.Env, err = toEnv("spec.env", o.Spec.Env)
	fault(err)
	for i, a := range o.Spec.Actions {
		if t.Actions == nil {
			t.Actions = map[string]run.Action{}
		}
		if _, twice := t.Actions[a.Name]; twice {
			fault(fmt.Errorf("%s: action %s is there twice: rename one", at("spec.actions", i), a.Name))
		}
		t.Actions[a.Name] = run.Action{Entrypoint: some(a.Entrypoint), Args: some(a.Args)}
	}
	return t, errors.Join(append(faults, t.Check())...)
}

// ToSafety returns the safety of a template, without a look at the rest of it; Exclusive for a word that is unknown.
func ToSafety(o *v1alpha1.JobTemplate) job.Safety {
	if s, err := toWord("spec.safety", o.Spec.Safety, safeties); err == nil {
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

// restores reports whether the log files of the last run are restored.
func restores(l *v1alpha1.JobLogs) bool { return l != nil && l.Restore == v1alpha1.RestoreAlways }

// ToSecrets returns the secrets of a run; nil for none.
func ToSecrets(all []v1alpha1.JobSecret) (secrets []run.SecretFile) {
	for _, s := range all {
		secrets = append(secrets, run.SecretFile(s))
	}
	return secrets
}

// forSecrets returns the secrets of a run; nil for none.
func forSecrets(all []run.SecretFile) (secrets []v1alpha1.JobSecret) {
	for _, s := range all {
		secrets = append(secrets, v1alpha1.JobSecret(s))
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
