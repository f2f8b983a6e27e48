package tool

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// parsePairs reads arguments key=value. What stands after the first = is the
// value, other equals signs too.
func parsePairs(args []string) (map[string]string, error) {
	pairs := make(map[string]string, len(args))
	for i, arg := range args {
		key, value, found := strings.Cut(arg, "=")
		if !found || key == "" {
			return nil, misuse("write key=value, and quote what has spaces", "argument %d is not a key, = and a value", i+1)
		}
		if _, twice := pairs[key]; twice {
			return nil, misuse("give it once", "key %.80q is given twice", key)
		}
		pairs[key] = value
	}
	return pairs, nil
}

// parseMap reads a YAML or JSON file of keys and plain values. What is no text in
// it is the text that stands there; null is empty.
func parseMap(file string, content []byte) (map[string]string, error) {
	pairs, err := parseJSON(content)
	if err != nil && utf8.Valid(content) {
		pairs, err = parseYAML(content)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", file, err)
	}
	return pairs, nil
}

// parseJSON is apart from parseYAML since YAML has no place for some of what
// JSON allows in a text.
func parseJSON(content []byte) (map[string]string, error) {
	var all map[string]json.RawMessage
	if !utf8.Valid(content) || json.Unmarshal(content, &all) != nil {
		return nil, Error{Kind: Invalid, Reason: "it is not UTF-8 text"}
	}
	pairs := make(map[string]string, len(all))
	for key, raw := range all {
		text, structured := string(raw), raw[0] == '{' || raw[0] == '['
		if key == "" || structured {
			return nil, Error{Kind: Invalid, Reason: "it has more than keys with plain values"}
		}
		if raw[0] == '"' && json.Unmarshal(raw, &text) != nil || text == "null" && raw[0] == 'n' {
			text = ""
		}
		pairs[key] = text
	}
	return pairs, nil
}

func parseYAML(content []byte) (map[string]string, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil {
		return nil, Error{Kind: Invalid, Reason: "it is not YAML", Cure: yamlLine(err)}
	}
	pairs := map[string]string{}
	if len(document.Content) == 0 || document.Content[0].Tag == "!!null" {
		return pairs, nil
	}
	root := document.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, Error{Kind: Invalid, Reason: "it is not a map of keys to values"}
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
			return nil, Error{Kind: Invalid, Reason: fmt.Sprintf("line %d is not a key with a plain value", key.Line), Cure: "quote what is structured: a value is text"}
		case twice:
			return nil, Error{Kind: Invalid, Reason: fmt.Sprintf("the key of line %d is given twice", key.Line)}
		case value.Decode(&text) != nil:
			return nil, Error{Kind: Invalid, Reason: fmt.Sprintf("the value of line %d is not what its tag says", value.Line)}
		}
		pairs[key.Value] = text
	}
	return pairs, nil
}

// yamlLine returns where YAML is wrong and nothing of what stands there.
func yamlLine(err error) string {
	var line int
	if _, text, found := strings.Cut(err.Error(), "line "); found {
		_, _ = fmt.Sscanf(text, "%d", &line)
	}
	if line == 0 {
		return ""
	}
	return fmt.Sprintf("look at line %d", line)
}

// checkText refuses what a bag cannot hold; it holds text.
func checkText(pairs map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(pairs)) {
		switch {
		case !utf8.ValidString(key):
			return Error{Kind: Invalid, Reason: fmt.Sprintf("key %.80q is not UTF-8 text", key)}
		case !utf8.ValidString(pairs[key]):
			return Error{Kind: Invalid, Reason: fmt.Sprintf("the value of key %.80q is not UTF-8 text", key), Cure: "encode it, for example with base64"}
		}
	}
	return nil
}

// optional is a list of one file, or of none.
func optional(file string) []string {
	if file == "" {
		return nil
	}
	return []string{file}
}
