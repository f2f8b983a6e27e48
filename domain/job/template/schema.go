package template

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/program"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// Signature describes named values, each by a JSON Schema of its own, so that the schemas of two levels can be joined. The
// zero value has none.
type Signature struct {
	// values are the schemas by name.
	values map[string]map[string]any
	// required are the names of values without which nothing is run.
	required map[string]bool
	// shared are the schemas of $defs.
	shared map[string]any
}

// Keywords of a value that Orcon reads.
const (
	// keyDefault is the value that counts if none is given.
	keyDefault = "default"
	// keySensitive is true for a value that reaches a run as a file.
	keySensitive = "sensitive"
)

// joined are the keywords that may stand beside the values.
//
//nolint:gochecknoglobals // a table
var joined = map[string]bool{
	"type": true, "properties": true, "required": true, "$defs": true, "additionalProperties": true,
	"$schema": true, "title": true, "description": true, "$comment": true,
}

// name matches a valid name of a tool's variable and of a secret's file.
var name = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,127}$`)

// object is a schema as it is written.
type object struct {
	Type       any                        `json:"type,omitempty"`
	Properties map[string]json.RawMessage `json:"properties,omitempty"`
	Required   []string                   `json:"required,omitempty"`
	Shared     map[string]any             `json:"$defs,omitempty"`
	Other      *bool                      `json:"additionalProperties,omitempty"`
}

// ParseSchema reads a schema of an object; no text is the zero value. Errors name the value and the cure.
func ParseSchema(text []byte) (Signature, error) {
	if len(strings.TrimSpace(string(text))) == 0 {
		return Signature{}, nil
	}
	if _, err := program.ParseSchema(text); err != nil {
		return Signature{}, err
	}
	var keywords map[string]json.RawMessage
	if err := json.Unmarshal(text, &keywords); err != nil {
		return Signature{}, errors.New("it is not an object: write {type: object, properties: {NAME: {type: TYPE}}}")
	}
	for _, keyword := range slices.Sorted(maps.Keys(keywords)) {
		if !joined[keyword] {
			return Signature{}, fmt.Errorf("keyword %q beside properties cannot be joined with that of another level: move it into a property%s",
				keyword, suggestion(keyword, slices.Sorted(maps.Keys(joined))))
		}
	}
	var o object
	if err := decode(text, &o); err != nil {
		return Signature{}, fmt.Errorf("it cannot be read: %w", err)
	}
	if o.Other != nil && *o.Other {
		return Signature{}, errors.New("additionalProperties is true: remove it, since only named values reach a run")
	}
	if o.Type != nil && o.Type != "object" {
		return Signature{}, fmt.Errorf("its type is %v: values have names, so write object", o.Type)
	}
	return o.schema()
}

// schema returns the values of an object.
func (o object) schema() (Signature, error) {
	s := Signature{values: map[string]map[string]any{}, required: map[string]bool{}, shared: o.Shared}
	var faults []error
	for _, one := range slices.Sorted(maps.Keys(o.Properties)) {
		var value map[string]any
		if err := decode(o.Properties[one], &value); err != nil || value == nil {
			faults = append(faults, fmt.Errorf("properties.%s is not an object: write {type: TYPE}", one))
			continue
		}
		s.values[one] = value
		if !name.MatchString(one) {
			faults = append(faults, fmt.Errorf("cannot use the name %q: begin with a letter or _, then letters, digits, _ and -, 128 at most", one))
		}
	}
	for _, one := range o.Required {
		if _, known := o.Properties[one]; !known {
			faults = append(faults, fmt.Errorf("required: %q is not in properties%s", one, suggestion(one, s.Names())))
		}
		s.required[one] = true
	}
	for _, one := range s.Names() {
		faults = append(faults, s.check(one))
	}
	if hides("$defs", s.shared) {
		faults = append(faults, errors.New("$defs has a part that is sensitive: mark the properties that refer to it instead"))
	}
	return s, errors.Join(faults...)
}

// check returns what is wrong with the keywords of one value that Orcon reads.
func (s Signature) check(one string) error {
	value := s.values[one]
	mark, marked := value[keySensitive]
	if _, is := mark.(bool); marked && !is {
		return fmt.Errorf("properties.%s.sensitive is %v: write true or false", one, mark)
	}
	for _, keyword := range slices.Sorted(maps.Keys(value)) {
		if keyword != keySensitive && hides(keyword, value[keyword]) {
			return fmt.Errorf("properties.%s.%s has a part that is sensitive: mark the whole of %[1]s, which is one file of a run",
				one, keyword)
		}
	}
	fallback, given := value[keyDefault]
	switch {
	case !given:
		return nil
	case s.sensitive(one):
		return fmt.Errorf("properties.%s is sensitive and has a default, which all can read: remove the default", one)
	}
	if err := s.fits(one, fallback); err != nil {
		return fmt.Errorf("properties.%s.default: %w", one, err)
	}
	return nil
}

// hides reports whether a keyword's value marks a part as sensitive, which would not be one.
func hides(keyword string, value any) bool {
	switch v := value.(type) {
	case bool:
		return v && keyword == keySensitive
	case []any:
		return slices.ContainsFunc(v, func(part any) bool { return hides("", part) })
	case map[string]any:
		for below, part := range v {
			if hides(below, part) {
				return keyword != keyDefault && keyword != "enum" && keyword != "const" && keyword != "examples"
			}
		}
	}
	return false
}

// fits returns why a value cannot be that of a name.
func (s Signature) fits(one string, value any) error {
	s.required = nil
	compiled, err := program.ParseSchema([]byte(s.String()))
	if err != nil {
		return err
	}
	return compiled.Check(map[string]any{one: value}, nil)
}

// Names returns the names of the values, sorted.
func (s Signature) Names() []string { return slices.Sorted(maps.Keys(s.values)) }

// Sensitive returns the names of the values that reach a run as files, sorted.
func (s Signature) Sensitive() []string {
	return slices.DeleteFunc(s.Names(), func(one string) bool { return !s.sensitive(one) })
}

func (s Signature) sensitive(one string) bool { return s.values[one][keySensitive] == true }

// String returns the schema as JSON, which ParseSchema reads as the same one. Equal schemas have equal texts.
func (s Signature) String() string {
	whole := map[string]any{"type": "object", "additionalProperties": false}
	if len(s.values) > 0 {
		whole["properties"] = s.values
	}
	if len(s.required) > 0 {
		whole["required"] = slices.Sorted(maps.Keys(s.required))
	}
	if len(s.shared) > 0 {
		whole["$defs"] = s.shared
	}
	text, err := json.Marshal(whole) // keys of maps are sorted
	if err != nil {
		return "" // it was read from JSON
	}
	return string(text)
}

// MarshalText implements encoding.TextMarshaler.
func (s Signature) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// decode reads JSON; numbers keep all their digits.
func decode(text []byte, into any) error {
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// suggestion returns the nearest known name as a question.
func suggestion(one string, known []string) string {
	if near := spelling.Nearest(one, known); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}
