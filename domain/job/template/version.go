package template

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/program"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/tooltype"
)

// Version is a template that is frozen: nothing of its type and of its template is needed to run it.
type Version struct {
	Template string        `json:"template"`
	Type     string        `json:"type"`
	Tool     tooltype.Type `json:"tool"`
	Contract string        `json:"contract"`
	Safety   job.Safety    `json:"safety"`
	// Base is the image of the type.
	Base string `json:"base"`
	Path string `json:"path"`
	// Content is the digest of the content.
	Content string `json:"content"`
	Mode    Mode   `json:"mode,omitempty"`
	Level
	// Fixed are the values of parameters that the template gives. They are not in the schema.
	Fixed map[string]any `json:"fixed"`
}

// Freeze joins a template, whose content has a digest, with its type. The error names everything that does not fit.
func Freeze(t Type, l Design, content string) (Version, error) {
	v := Version{
		Template: l.Name, Type: t.Name, Tool: t.Tool, Contract: t.Contract, Base: t.Image, Path: t.Path, Content: content,
		Mode: t.Mode, Fixed: l.Fixed,
	}
	if v.Path == "" {
		v.Path = contract.Work
	}
	j := joining{t: t, l: l}
	v.Parameters = j.parameters()
	v.Outputs = j.schema("outputs", t.Outputs, l.Outputs)
	v.Actions = join(&j, "actions", t.Actions, l.Actions)
	v.Env = join(&j, "env", t.Env, l.Env)
	v.Exclude, v.Rescue = union(t.Exclude, l.Exclude), union(t.Rescue, l.Rescue)
	v.RestoreLogs = t.RestoreLogs || l.RestoreLogs
	v.Safety = j.safety()
	j.fault(v.check())
	if err := errors.Join(j.faults...); err != nil {
		return Version{}, fmt.Errorf("cannot freeze template %s of type %s: %w", l.Name, t.Name, err)
	}
	return v, nil
}

// check returns what is wrong with a version as a whole.
func (v Version) check() error {
	runnable, err := v.Runnable(v.Template, v.Base)
	faults := []error{err}
	if v.Mode == AdHoc && v.Path != contract.Work {
		faults = append(faults, fmt.Errorf("path: type %s is ad hoc, and content is copied to %s: remove path %s", v.Type, contract.Work, v.Path))
	}
	if err == nil {
		faults = append(faults, runnable.Check())
	}
	for _, one := range slices.Sorted(maps.Keys(v.Fixed)) {
		faults = append(faults, v.Tool.CheckName(one))
	}
	for _, one := range v.Parameters.Names() {
		faults = append(faults, v.Tool.CheckName(one))
	}
	for _, one := range slices.Sorted(maps.Keys(v.Env)) {
		if contract.Reserved(one) {
			faults = append(faults, fmt.Errorf("env: variable %s belongs to Orcon: use another name", one))
		}
	}
	return errors.Join(faults...)
}

// Digest returns "sha256:" and 64 hexadecimal digits, which are equal exactly for equal versions.
func (v Version) Digest() (string, error) {
	text, err := json.Marshal(v) // keys of maps are sorted
	if err != nil {
		return "", fmt.Errorf("cannot freeze the template: %w", err)
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(text)), nil
}

const (
	// suffix is how many digits of its digest the name of a version has.
	suffix = 10
	// longest is how long the name of a template may be in that of a version.
	longest = 200
)

// Name returns the name of the version's object, which begins with that of its template.
func (v Version) Name() (string, error) {
	digest, err := v.Digest()
	if err != nil {
		return "", err
	}
	if len(v.Template) > longest {
		return "", fmt.Errorf("cannot name a version of template %s: its name has more than %d characters: shorten it", v.Template, longest)
	}
	return v.Template + "-" + digest[len("sha256:"):][:suffix], nil
}

// Runnable returns what Runs are frozen from. image is that of the program, by digest.
func (v Version) Runnable(name, image string) (program.TemplateVersion, error) {
	schema, err := program.ParseSchema([]byte(v.Parameters.String()))
	outputs, wrong := program.ParseSchema([]byte(v.Outputs.String()))
	if err = errors.Join(err, wrong); err != nil {
		return program.TemplateVersion{}, err
	}
	content := ""
	if v.Mode == AdHoc {
		content = v.Content
	}
	return program.TemplateVersion{
		Name: name, Image: image, Content: content, Contract: v.Contract, Type: v.Tool, Safety: v.Safety, Schema: schema,
		Sensitive: schema.Sensitive(), SensitiveOutputs: outputs.Sensitive(), Fixed: v.Fixed, Actions: v.Actions, Env: v.Env, Files: v.Files,
	}, nil
}
