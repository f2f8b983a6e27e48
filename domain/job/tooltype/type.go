package tooltype

import (
	"fmt"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// Type says which tool a template runs.
type Type string

// The types.
const (
	// Plain templates read their parameters themselves.
	Plain Type = ""
	// OpenTofu templates run OpenTofu or Terraform in the working directory.
	OpenTofu Type = "opentofu"
	// Ansible templates run Ansible in the working directory.
	Ansible Type = "ansible"
)

// Types returns all types but Plain.
func Types() []Type { return []Type{OpenTofu, Ansible} }

// Parse reads a type; no text is Plain.
func Parse(text string) (Type, error) {
	known := make([]string, len(Types()))
	for i, t := range Types() {
		if known[i] = string(t); text == known[i] {
			return t, nil
		}
	}
	if text == "" {
		return Plain, nil
	}
	cure := "use " + strings.Join(known, " or ") + ", or none"
	if near := spelling.Nearest(text, known); near != "" {
		cure = fmt.Sprintf("did you mean %q?", near)
	}
	return Plain, fmt.Errorf("cannot use template type %q: %s", text, cure)
}

// Exclude returns the patterns of files of the state that are not kept: what the tool fetches or makes anew.
func (t Type) Exclude() []string {
	switch t {
	case OpenTofu:
		return []string{".terraform/", "*.tfstate.backup", ".terraform.tfstate.lock.info"}
	case Ansible:
		return []string{".ansible/", "*.retry"}
	case Plain:
	}
	return nil
}

// Rescue returns the patterns of files of the working directory that are kept with the state: what the tool writes
// there if it cannot store its state.
func (t Type) Rescue() []string {
	if t == OpenTofu {
		return []string{"errored.tfstate"}
	}
	return nil
}
