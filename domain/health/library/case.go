package library

import (
	"bytes"
	"fmt"

	"gopkg.in/yaml.v3"
)

// Case is an object in a known state, which shows a probe right.
type Case struct {
	// Want is the state, and Says a part of the words about it.
	Want string `yaml:"want"`
	Says string `yaml:"says"`
	// Source is the page, and in brackets the version, that describe the state.
	Source     string     `yaml:"source"`
	Definition Definition `yaml:"definition"`
	// Object is the object as the API server returns it.
	Object map[string]any `yaml:"object"`
}

// Definition has facts about an object's definition.
type Definition struct {
	// Status reports whether it has a status; nil where that is not known.
	Status *bool `yaml:"status"`
}

// ParseCase reads a case. The error names the file, and the line of a field that is unknown.
func ParseCase(file string, text []byte) (Case, error) {
	var c Case
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&c); err != nil {
		return c, fmt.Errorf("cannot read case %s: %w", file, err)
	}
	if c.Object == nil || c.Want == "" {
		return c, fmt.Errorf("cannot read case %s: it needs object, as kubectl get -o yaml prints it, and want, the state: "+
			"Ready, InProgress, Failing, Suspended or Unknown", file)
	}
	return c, nil
}
