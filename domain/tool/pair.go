package tool

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// parsePairs reads arguments key=value. What stands after the first = is the
// value, other equals signs too.
func parsePairs(args []string) (map[string]string, error) {
	pairs := make(map[string]string, len(args))
	for i, arg := range args {
		key, value, found := strings.Cut(arg, "=")
		if !found || key == "" {
			return nil, misuse("write key=value, and quote values with spaces", "argument %d is not a key, = and a value", i+1)
		}
		if _, twice := pairs[key]; twice {
			return nil, misuse("give it once", "key %.80q is given twice", key)
		}
		pairs[key] = value
	}
	return pairs, nil
}

// parseMap reads a YAML or JSON file of keys and plain values. A value of another type becomes the text of its
// source; null is empty.
func parseMap(file string, content []byte) (map[string]string, error) {
	if !utf8.Valid(content) {
		return nil, refuse(conversation.Invalid, "encode binary data with base64", "cannot read %s: it is not UTF-8 text", file)
	}
	if pairs, ok := parseJSON(content); ok {
		return pairs, nil
	}
	pairs, err := parseYAML(content)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", file, err)
	}
	return pairs, nil
}

// parseJSON is apart from parseYAML since YAML cannot carry some texts that JSON allows. An input that it does not
// take is taken or refused by YAML.
func parseJSON(content []byte) (map[string]string, bool) {
	var all map[string]json.RawMessage
	if json.Unmarshal(content, &all) != nil {
		return nil, false
	}
	pairs := make(map[string]string, len(all))
	for key, raw := range all {
		text := string(raw)
		switch {
		case key == "" || raw[0] == '{' || raw[0] == '[':
			return nil, false
		case text == "null":
			text = ""
		case raw[0] == '"' && json.Unmarshal(raw, &text) != nil:
			return nil, false
		}
		pairs[key] = text
	}
	return pairs, true
}

func parseYAML(content []byte) (map[string]string, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil {
		return nil, refuse(conversation.Invalid, "look at line "+yamlLine(err), "it is not YAML")
	}
	pairs := map[string]string{}
	if len(document.Content) == 0 || document.Content[0].Tag == "!!null" {
		return pairs, nil
	}
	root := document.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, refuse(conversation.Invalid, "write lines of key: value", "it is not a map of keys to values")
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		_, twice := pairs[key.Value]
		var text string
		switch {
		case key.Kind != yaml.ScalarNode || value.Kind != yaml.ScalarNode || key.Value == "":
			return nil, refuse(conversation.Invalid, plainValues, "line %d is not a key with a plain value", key.Line)
		case twice:
			return nil, refuse(conversation.Invalid, "write it once", "the key of line %d is given twice", key.Line)
		case value.Decode(&text) != nil:
			return nil, refuse(conversation.Invalid, "remove the tag, or write a value that fits it",
				"the value of line %d does not fit its tag", value.Line)
		}
		pairs[key.Value] = text
	}
	return pairs, nil
}

// plainValues is the cure of a value that is a list or a map.
const plainValues = "quote lists and maps: a value is text"

// yamlLine returns the line of an error of YAML without its text.
func yamlLine(err error) string {
	_, text, _ := strings.Cut(err.Error(), "line ")
	digits := text[:len(text)-len(strings.TrimLeft(text, "0123456789"))]
	if digits == "" {
		return "1"
	}
	return digits
}

// optional is a list of one file, or of none.
func optional(file string) []string {
	if file == "" {
		return nil
	}
	return []string{file}
}
