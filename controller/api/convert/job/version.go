package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/template"
)

// ToType returns a type of templates. The error names everything that cannot be read.
func ToType(o *v1alpha1.JobTemplateType) (template.Type, error) {
	t := template.Type{Name: o.Name, Image: o.Spec.Image, Contract: o.Spec.Contract, Path: o.Spec.Path}
	r := reader{}
	var err error
	t.Tool, err = toWord("spec.type", o.Spec.Type, types)
	r.fault(err)
	t.Safety, err = toWord("spec.safety", o.Spec.Safety, safeties)
	r.fault(err)
	t.Mode, err = toWord("spec.mode", o.Spec.Mode, modes)
	r.fault(err)
	t.Level = r.level(o.Spec.JobProgram, "spec.outputs", o.Spec.Outputs)
	if err := errors.Join(r.faults...); err != nil {
		return template.Type{}, fmt.Errorf("cannot use JobTemplateType %s: %w", o.Name, err)
	}
	return t, nil
}

// ToBuild returns what a template that is built changes of its type. The error names everything that cannot be read.
func ToBuild(o *v1alpha1.JobTemplate) (template.Design, error) {
	if o.Spec.Build == nil {
		return template.Design{}, fmt.Errorf("cannot build JobTemplate %s: it names an image, and has no spec.build", o.Name)
	}
	l := template.Design{Name: o.Name}
	r := reader{}
	var err error
	l.Fixed, err = ToParameters("spec.build.fixed", o.Spec.Build.Fixed)
	r.fault(err)
	l.Defaults, err = ToParameters("spec.build.defaults", o.Spec.Build.Defaults)
	r.fault(err)
	l.Safety, err = toWord("spec.safety", o.Spec.Safety, safeties)
	r.fault(err)
	l.Level = r.level(o.Spec.JobProgram, "spec.build.outputs", o.Spec.Build.Outputs)
	if err := errors.Join(r.faults...); err != nil {
		return template.Design{}, fmt.Errorf("cannot build JobTemplate %s: %w", o.Name, err)
	}
	return l, nil
}

// level returns what a type and a template may both have.
func (r *reader) level(p v1alpha1.JobProgram, outputs string, schema *runtime.RawExtension) template.Level {
	l := template.Level{
		Parameters: r.schema("spec.parameters", p.Parameters), Outputs: r.schema(outputs, schema),
		Files: toFiles(p),
	}
	var err error
	l.Env, err = toEnv("spec.env", p.Env)
	r.fault(err)
	l.Actions, err = toActions(p.Actions)
	r.fault(err)
	return l
}

func (r *reader) schema(field string, raw *runtime.RawExtension) template.Signature {
	if raw == nil {
		return template.Signature{}
	}
	s, err := template.ParseSchema(raw.Raw)
	r.fault(within(field, err))
	return s
}

// ForVersion returns the object of a version. image is that of the program, by digest, and source where its content came
// from.
func ForVersion(v template.Version, namespace, image, source string) (*v1alpha1.JobTemplateVersion, error) {
	name, err := v.Name()
	if err != nil {
		return nil, err
	}
	o := &v1alpha1.JobTemplateVersion{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "JobTemplateVersion"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{v1alpha1.LabelTemplate: v.Template}},
		Spec: v1alpha1.JobTemplateVersionSpec{
			JobProgram: v1alpha1.JobProgram{
				Image: image, Contract: v.Contract, Type: forWord(v.Tool, types), Safety: forWord(v.Safety, safeties),
				Parameters: &runtime.RawExtension{Raw: []byte(v.Parameters.String())},
				Actions:    forActions(v.Actions), Env: forEnv(v.Env), Exclude: v.Exclude, Rescue: v.Rescue,
			},
			Outputs: &runtime.RawExtension{Raw: []byte(v.Outputs.String())},
			Origin: v1alpha1.JobVersionOrigin{
				Template: v.Template, Type: v.Type, Base: v.Base, Path: v.Path, Content: v.Content, Source: source,
			},
		},
	}
	if v.Mode == template.AdHoc {
		o.Spec.Content = v.Content
	}
	if v.RestoreLogs {
		o.Spec.Logs = &v1alpha1.JobLogs{Restore: v1alpha1.RestoreAlways}
	}
	if len(v.Fixed) > 0 {
		raw, err := json.Marshal(v.Fixed)
		if err != nil {
			return nil, fmt.Errorf("cannot write the fixed values of template %s: %w", v.Template, err)
		}
		o.Spec.Fixed = &runtime.RawExtension{Raw: raw}
	}
	return o, nil
}

// forActions returns actions, sorted by name.
func forActions(all map[string]run.Action) []v1alpha1.JobAction {
	var actions []v1alpha1.JobAction
	for _, name := range slices.Sorted(maps.Keys(all)) {
		actions = append(actions, v1alpha1.JobAction{Name: name, Entrypoint: all[name].Entrypoint, Args: all[name].Args})
	}
	return actions
}
