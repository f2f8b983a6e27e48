package tool

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// The formats in which a value is printed.
const (
	smart    = "smart"
	asJSON   = "json"
	asYAML   = "yaml"
	timeForm = time.RFC3339Nano
)

func formats() []string { return []string{asJSON, smart, asYAML} }

func isFormat(format string) bool { return slices.Contains(formats(), format) }

// render prints a value: nil, a string, a bool, an int, a time, strings, list or
// fields. Nothing prints nothing, but for null in JSON.
func render(format string, value any) ([]byte, error) {
	switch format {
	case asJSON:
		return renderJSON(value)
	case asYAML:
		return renderYAML(value)
	default:
		return renderSmart(value)
	}
}

// renderSmart prints text as it is, truth as Python writes it, a list by line, and the rest as YAML. Empty text
// prints nothing, not even a newline.
func renderSmart(value any) ([]byte, error) {
	switch value := value.(type) {
	case string:
		return line(value), nil
	case []string:
		return line(strings.Join(value, "\n")), nil
	case bool:
		if value {
			return line("True"), nil
		}
		return line("False"), nil
	default:
		return renderYAML(value)
	}
}

func line(text string) []byte {
	if text == "" {
		return nil
	}
	return []byte(text + "\n")
}

// renderJSON refuses values that JSON cannot carry: Go would replace invalid text without a word.
func renderJSON(value any) ([]byte, error) {
	if !isText(value) {
		return nil, refuse(conversation.Invalid, "read one key with #base64 after it", "cannot print a value as JSON that is not UTF-8 text")
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return append(text, '\n'), nil
}

func isText(value any) bool {
	switch value := value.(type) {
	case string:
		return utf8.ValidString(value)
	case fields:
		return !slices.ContainsFunc(value, func(f field) bool { return !isText(f.value) })
	default:
		return true
	}
}

// list is values in order.
type list []any

// fields are named values in the order in which they are printed.
type fields []field

// field is one named value.
type field struct {
	key   string
	value any
	// yamlOnly is set on a second name that Juju prints in YAML for old readers.
	yamlOnly bool
}

// fieldsOf returns a map's entries in order of keys.
func fieldsOf(entries map[string]string) fields {
	all := make(fields, 0, len(entries))
	for key, value := range entries {
		all = append(all, field{key: key, value: value})
	}
	slices.SortFunc(all, func(a, b field) int { return strings.Compare(a.key, b.key) })
	return all
}

// MarshalJSON writes an object with its keys in order.
func (f fields) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for _, each := range f {
		if each.yamlOnly {
			continue
		}
		key, err := json.Marshal(each.key)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(each.value)
		if err != nil {
			return nil, err
		}
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		out.Write(key)
		out.WriteByte(':')
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}
