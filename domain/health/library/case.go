package library

import (
	"bytes"
	"fmt"
	"time"

	"gopkg.in/yaml.v3"
)

// Case is an object in a known state, which shows a probe right.
type Case struct {
	// Want is the state, and Says a part of the words about it.
	Want string `yaml:"want"`
	Says string `yaml:"says"`
	// Source is the file of a repository, at a commit or a version, that describes the state.
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
	for key, value := range c.Object {
		c.Object[key] = plain(value)
	}
	return c, nil
}

// plain returns a value of YAML as the API server returns it: numbers as int64 or float64, times as texts.
func plain(value any) any {
	switch v := value.(type) {
	case map[string]any:
		copied := map[string]any{}
		for key, inner := range v {
			copied[key] = plain(inner)
		}
		return copied
	case []any:
		copied := []any{}
		for _, inner := range v {
			copied = append(copied, plain(inner))
		}
		return copied
	case int:
		return int64(v)
	case time.Time:
		return v.Format(time.RFC3339)
	}
	return value
}
