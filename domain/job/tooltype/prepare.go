package tooltype

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Preparation holds what the working directory and the environment of a run have for its tool.
type Preparation struct {
	// Files are those of the working directory. A template must not have files of these names.
	Files []File
	// Environment has variables, as NAME=value.
	Environment []string
	// Sensitive are variables whose values are in files.
	Sensitive []Sensitive
}

// File is one file.
type File struct {
	Name    string
	Content string
}

// Sensitive is a variable whose value is the content of a file.
type Sensitive struct {
	Variable, Path string
}

// The files.
const (
	// Variables is read by OpenTofu and Terraform.
	Variables = "terraform.tfvars.json"
	// Backend has OpenTofu and Terraform store their state over HTTP, whatever backend the template names: a state
	// elsewhere would be none that is kept.
	Backend = "orcon_override.tf.json"
	// ExtraVars is for Ansible: --extra-vars @extra-vars.json.
	ExtraVars = "extra-vars.json"
)

// backend is the content of Backend; the addresses are in the environment.
const backend = `{
  "terraform": {
    "backend": {
      "http": {}
    }
  }
}
`

// Input holds what a run is prepared from.
type Input struct {
	// Parameters are a JSON object; "" for none.
	Parameters string
	// Secrets is the folder of secrets: a parameter that is {"fromFile": "FOLDER/NAME"} is sensitive.
	Secrets string
	// Backend reports that the state is served over HTTP.
	Backend bool
	// Plan is the folder where the run leaves its plan; "" for a run that makes none.
	Plan string
}

// Prepare returns what a run of a type needs. Errors name the parameter and the cure.
func (t Type) Prepare(in Input) (Preparation, error) {
	if t == Plain {
		return Preparation{}, nil
	}
	values, err := parse(in.Parameters)
	if err == nil {
		err = t.checkNames(values)
	}
	if err != nil {
		return Preparation{}, fmt.Errorf("cannot prepare the run: %w", err)
	}
	if t == Ansible {
		return ansible(values, in.Secrets)
	}
	return openTofu(values, in)
}

// parse reads an object of values. Numbers keep all their digits.
func parse(text string) (map[string]any, error) {
	if strings.TrimSpace(text) == "" {
		return map[string]any{}, nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var values map[string]any
	if err := decoder.Decode(&values); err != nil || values == nil {
		return nil, errors.Join(errors.New("the parameters are not a JSON object: write {\"NAME\": VALUE}"), err)
	}
	return values, nil
}

// identifiers are the names that each tool permits for variables.
//
//nolint:gochecknoglobals // a table
var identifiers = map[Type]*regexp.Regexp{
	OpenTofu: regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`),
	Ansible:  regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`),
}

// checkNames returns an error for each parameter that the tool cannot have as a variable.
func (t Type) checkNames(values map[string]any) error {
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(values)) {
		wrong = append(wrong, t.CheckName(name))
	}
	return errors.Join(wrong...)
}

// CheckName returns an error if the tool cannot have a parameter of a name as a variable.
func (t Type) CheckName(name string) error {
	if permitted := identifiers[t]; permitted == nil || permitted.MatchString(name) {
		return nil
	}
	return fmt.Errorf("parameter %q cannot be a variable of %s: begin with a letter or _, then letters, digits and _", name, t)
}

// openTofu returns the preparation for OpenTofu. In a file of values, a text is never a template.
func openTofu(values map[string]any, in Input) (Preparation, error) {
	p := Preparation{Environment: []string{"TF_IN_AUTOMATION=1", "TF_INPUT=0"}}
	if in.Plan != "" {
		p.Environment = append(p.Environment, "TF_CLI_ARGS_plan=-out="+in.Plan+"/plan")
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if path := fromFile(values[name], in.Secrets); path != "" {
			p.Sensitive = append(p.Sensitive, Sensitive{"TF_VAR_" + name, path})
			delete(values, name)
		}
	}
	text, err := write(values)
	p.Files = append(p.Files, File{Variables, text})
	if in.Backend {
		p.Files = append(p.Files, File{Backend, backend})
	}
	return p, err
}

// fileName matches the name of a file of secrets.
var fileName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*$`)

// fromFile returns the path of a sensitive parameter; "" for another one.
func fromFile(value any, folder string) string {
	object, _ := value.(map[string]any)
	path, _ := object["fromFile"].(string)
	name, below := strings.CutPrefix(path, folder+"/")
	if len(object) != 1 || !below || !fileName.MatchString(name) {
		return ""
	}
	return path
}

// ansible returns the preparation for Ansible. A text is marked, so that it is never evaluated as a template. A sensitive
// parameter is a template of Orcon's own, by which Ansible reads the file, and does not evaluate its content.
func ansible(values map[string]any, secrets string) (Preparation, error) {
	variables := map[string]any{}
	for name, value := range values {
		if path := fromFile(value, secrets); path != "" {
			variables[name] = "{{ lookup('ansible.builtin.file', '" + path + "', rstrip=false) }}"
			continue
		}
		var err error
		if variables[name], err = mark(value); err != nil {
			return Preparation{}, fmt.Errorf("cannot prepare the run: parameter %q: %w", name, err)
		}
	}
	text, err := write(variables)
	return Preparation{Files: []File{{ExtraVars, text}}, Environment: []string{locale}}, err
}

// locale is the one without a language: Ansible does not start in one that is not UTF-8.
const locale = "LC_ALL=C.UTF-8"

// reserved begins the members of objects that Ansible reads in a way of its own; unsafe marks a text.
const (
	reserved = "__ansible_"
	unsafe   = "__ansible_unsafe"
)

// mark returns a value whose texts Ansible does not evaluate.
func mark(value any) (any, error) {
	var err error
	switch v := value.(type) {
	case string:
		return map[string]any{unsafe: v}, nil
	case []any:
		all := make([]any, len(v))
		for i := range v {
			if all[i], err = mark(v[i]); err != nil {
				return nil, err
			}
		}
		return all, nil
	case map[string]any:
		all := map[string]any{}
		for name := range v {
			if strings.HasPrefix(name, reserved) {
				return nil, fmt.Errorf("member %q means something else to Ansible: rename it", name)
			}
			if all[name], err = mark(v[name]); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	return value, nil
}

// write returns values as JSON, sorted by name.
func write(values map[string]any) (string, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(values); err != nil {
		return "", fmt.Errorf("cannot prepare the run: %w", err)
	}
	return out.String(), nil
}
