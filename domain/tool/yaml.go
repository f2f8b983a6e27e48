package tool

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// renderYAML prints a value as Juju lays it out: two spaces, and a list level
// with its key, which yaml.v3 does not offer. Scalars are yaml.v3's.
func renderYAML(value any) ([]byte, error) {
	if value == nil {
		return nil, nil
	}
	inline, text, err := yamlBlock(value, "")
	if inline {
		text = append(text, '\n')
	}
	return text, err
}

// yamlBlock returns a value below an indentation, and whether it may stand on
// the line of its key.
func yamlBlock(value any, indent string) (inline bool, text []byte, err error) {
	switch value := value.(type) {
	case []string:
		items := make(list, len(value))
		for i, item := range value {
			items[i] = item
		}
		return yamlBlock(items, indent)
	case list:
		if len(value) == 0 {
			return true, []byte("[]"), nil
		}
		text, err = yamlList(value, indent)
		return false, text, err
	case fields:
		if len(value) == 0 {
			return true, []byte("{}"), nil
		}
		text, err = yamlFields(value, indent)
		return false, text, err
	default:
		text, err = yamlScalar(value, indent)
		return true, text, err
	}
}

func yamlList(items list, indent string) ([]byte, error) {
	var out bytes.Buffer
	for _, item := range items {
		inline, text, err := yamlBlock(item, indent+"  ")
		switch {
		case err != nil:
			return nil, err
		case inline:
			out.WriteString(indent + "- " + string(text) + "\n")
		default: // the first line of a block begins with the indentation
			out.WriteString(indent + "- " + string(text[len(indent)+2:]))
		}
	}
	return out.Bytes(), nil
}

func yamlFields(all fields, indent string) ([]byte, error) {
	var out bytes.Buffer
	for _, f := range all {
		key, err := yamlKey(f.key)
		if err != nil {
			return nil, err
		}
		below := indent + "  "
		switch f.value.(type) {
		case list, []string:
			below = indent
		}
		inline, text, err := yamlBlock(f.value, below)
		switch {
		case err != nil:
			return nil, err
		case inline:
			out.WriteString(indent + key + ": " + string(text) + "\n")
		default:
			out.WriteString(indent + key + ":\n" + string(text))
		}
	}
	return out.Bytes(), nil
}

// yamlKey returns a key on one line, quoted where it must be.
func yamlKey(key string) (string, error) {
	var in any = key
	if strings.Contains(key, "\n") || isOdd(key) {
		in = quoted(key)
	}
	text, err := yaml.Marshal(in)
	return strings.TrimSuffix(string(text), "\n"), err
}

// isOdd reports whether yaml.v3 would write a text in a way that it or another
// library reads as something else: a block that begins with space, what cannot
// be seen, and two signs of YAML 1.1.
func isOdd(text string) bool {
	unseen := func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }
	block := strings.Contains(text, "\n") && strings.ContainsAny(text[:1], " \n")
	return utf8.ValidString(text) && (block || text == "<<" || text == "=" || strings.ContainsFunc(text, unseen))
}

func quoted(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Style: yaml.DoubleQuotedStyle}
}

// yamlScalar returns one value without the newline after it. The further lines of a text begin with the indentation
// of the map or list around it.
func yamlScalar(value any, indent string) ([]byte, error) {
	switch value := value.(type) {
	case int:
		return strconv.AppendInt(nil, int64(value), 10), nil
	case bool:
		return strconv.AppendBool(nil, value), nil
	case time.Time:
		return []byte(value.UTC().Format(timeForm)), nil
	case string:
		return yamlText(value, indent)
	default:
		return nil, fmt.Errorf("cannot print a %T", value)
	}
}

func yamlText(text, indent string) ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(len("  "))
	var in any = text
	if isOdd(text) {
		in = quoted(text)
	}
	if err := encoder.Encode(in); err != nil {
		return nil, err
	}
	first, rest, more := strings.Cut(strings.TrimSuffix(out.String(), "\n"), "\n")
	if !more {
		return []byte(first), nil
	}
	lines := strings.Split(rest, "\n")
	for i, each := range lines {
		if each != "" {
			lines[i] = strings.TrimPrefix(indent, "  ") + each
		}
	}
	return []byte(first + "\n" + strings.Join(lines, "\n")), nil
}
