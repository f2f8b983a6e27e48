package shim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/tooltype"
)

// maxSecret is how large a file may be whose content becomes a variable, in bytes. The kernel's limit is 128 KiB with
// the name.
const maxSecret = 120 << 10

// prepare writes what the tool of a template finds in the working directory, and returns the environment with its
// variables, which those of the template win over. It is done here, since the keeper sees neither that folder nor the
// template's secrets.
func (s *Shim) prepare(environment []string) ([]string, error) {
	kind, err := tooltype.Parse(variable(environment, contract.VariableType))
	if err != nil || kind == tooltype.Plain {
		return environment, err
	}
	parameters, err := os.ReadFile(variable(environment, contract.VariableParameters))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot read the parameters: %w", err)
	}
	p, err := kind.Prepare(tooltype.Input{
		Parameters: string(parameters), Secrets: variable(environment, contract.VariableSecrets),
		Backend: variable(environment, contract.VariableAddress) != "", Plan: variable(environment, contract.VariablePlan),
	})
	if err != nil {
		return nil, err
	}
	for _, one := range p.Files {
		if err := s.place(one, kind); err != nil {
			return nil, err
		}
	}
	environment = append(p.Environment, environment...)
	for _, one := range p.Sensitive {
		text, err := secret(one.Path)
		if err != nil {
			return nil, fmt.Errorf("cannot read the secret for %s: %w", one.Variable, err)
		}
		environment = append(environment, one.Variable+"="+text)
	}
	return environment, nil
}

// unique returns an environment in which each variable is once: the last one counts.
func unique(environment []string) (all []string) {
	seen := map[string]bool{}
	for _, one := range slices.Backward(environment) {
		name, _, _ := strings.Cut(one, "=")
		if !seen[name] {
			all = append(all, one)
		}
		seen[name] = true
	}
	slices.Reverse(all)
	return all
}

// variable returns the value of a variable; the last one counts.
func variable(environment []string, name string) (value string) {
	for _, one := range environment {
		if text, found := strings.CutPrefix(one, name+"="); found {
			value = text
		}
	}
	return value
}

// place writes a file into the working directory, unless the template has one of its name.
func (s *Shim) place(f tooltype.File, kind tooltype.Type) error {
	file, err := os.OpenFile(filepath.Join(s.Folder, f.Name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("the template has a file %s, which belongs to Orcon for templates of type %s: rename it", f.Name, kind)
	}
	if err != nil {
		return err
	}
	_, err = file.WriteString(f.Content)
	return errors.Join(err, file.Close())
}

// secret returns the content of a file of the secrets.
func secret(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.Size() > maxSecret {
		return "", fmt.Errorf("%s has more than %d bytes: have the template read the file itself", path, maxSecret)
	}
	text, err := os.ReadFile(path) //nolint:gosec // below the folder of the secrets
	if strings.ContainsRune(string(text), 0) {
		return "", fmt.Errorf("%s has a zero byte, which no variable may have: have the template read the file itself", path)
	}
	return string(text), err
}
