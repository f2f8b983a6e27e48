package openshift

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
)

var (
	// reference matches ${NAME} anywhere in a text.
	reference = regexp.MustCompile(`\$\{([a-zA-Z0-9_]+)\}`)
	// whole matches a text that is ${{NAME}} and nothing else.
	whole = regexp.MustCompile(`^\$\{\{([a-zA-Z0-9_]+)\}\}$`)
)

// substitution has the value of each parameter.
type substitution map[string]string

// text returns a text with values for its references. Of ${{NAME}} it is the value as it is.
func (s substitution) text(in string) string {
	if value, ok := s.whole(in); ok {
		return value
	}
	return reference.ReplaceAllStringFunc(in, func(found string) string {
		if value, known := s[found[len("${"):len(found)-len("}")]]; known {
			return value
		}
		return found
	})
}

// whole returns the value of the parameter that a text refers to by ${{NAME}}.
func (s substitution) whole(in string) (string, bool) {
	match := whole.FindStringSubmatch(in)
	if match == nil {
		return "", false
	}
	value, known := s[match[1]]
	return value, known
}

// value returns the value at a path with values for the references in it.
func (s substitution) value(path string, in any) (any, error) {
	switch v := in.(type) {
	case string:
		if value, ok := s.whole(v); ok {
			return decoded(value), nil
		}
		return s.text(v), nil
	case map[string]any:
		return s.fields(path, v)
	case []any:
		return s.items(path, v)
	}
	return in, nil
}

// fields returns a map with values for the references in its keys and values. A field whose parameter is null is
// left out.
func (s substitution) fields(path string, in map[string]any) (map[string]any, error) {
	var failed []error
	out := make(map[string]any, len(in))
	for _, name := range slices.Sorted(maps.Keys(in)) {
		key := s.text(name)
		value, err := s.value(join(path, key), in[name])
		if err == nil && value == nil && in[name] != nil {
			continue
		}
		if _, taken := out[key]; taken {
			err = collision(path, key)
		}
		failed = append(failed, err)
		out[key] = value
	}
	return out, errors.Join(failed...)
}

// items returns a list with values for the references in its items.
func (s substitution) items(path string, in []any) ([]any, error) {
	var failed []error
	out := make([]any, len(in))
	for i, item := range in {
		value, err := s.value(fmt.Sprintf("%s[%d]", path, i), item)
		failed = append(failed, err)
		out[i] = value
	}
	return out, errors.Join(failed...)
}

// collision reports two keys of a map that have become one.
func collision(path, key string) error {
	return fmt.Errorf("%s has key %q twice once values are substituted: change one of the keys, or the value of its parameter", path, key)
}

// decoded returns what a text means as JSON, with numbers as int64 or float64; the text itself if it is not JSON.
func decoded(text string) any {
	in := json.NewDecoder(bytes.NewReader([]byte(text)))
	in.UseNumber()
	var value any
	if err := in.Decode(&value); err != nil {
		return text
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return text
	}
	value, err := numbers(value)
	if err != nil {
		return text
	}
	return value
}

// numbers returns a decoded value with numbers of Go. The error reports a number that is too large.
func numbers(in any) (any, error) {
	switch v := in.(type) {
	case json.Number:
		if whole, err := v.Int64(); err == nil {
			return whole, nil
		}
		return v.Float64()
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			value, err := numbers(item)
			if err != nil {
				return nil, err
			}
			out[i] = value
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			value, err := numbers(item)
			if err != nil {
				return nil, err
			}
			out[key] = value
		}
		return out, nil
	}
	return in, nil
}
