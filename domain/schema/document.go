package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// The limits of a document (SAFETY.md S5).
const (
	// MaxDocument is its size in bytes.
	MaxDocument = 64 << 10
	// MaxDepth is how deep its maps and lists may be nested.
	MaxDepth = 32
)

// reader turns YAML into the values that JSON knows: map[string]any, []any,
// string, json.Number, bool and nil. It collects what is wrong.
type reader struct{ problems []Problem }

func (r *reader) refuse(path, reason, cure string) {
	r.problems = append(r.problems, Problem{Path: path, Reason: reason, Cure: cure})
}

// document reads all of it; nil on a problem.
func (r *reader) document(text []byte) map[string]any {
	if len(text) > MaxDocument {
		r.refuse("", fmt.Sprintf("it has %d bytes and may have %d", len(text), MaxDocument), "shorten it, or make several interfaces")
		return nil
	}
	var document, another yaml.Node
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	if err := decoder.Decode(&document); err != nil && !errors.Is(err, io.EOF) {
		r.refuse("", "it is not YAML: "+strings.TrimPrefix(err.Error(), "yaml: "), "")
		return nil
	}
	if len(document.Content) == 0 || document.Content[0].Kind != yaml.MappingNode {
		r.refuse("", "it is not a map with name, version and so on", "begin with for example name: sse")
		return nil
	}
	if err := decoder.Decode(&another); !errors.Is(err, io.EOF) {
		r.refuse("", "it holds several documents, or is not YAML to its end", "write one interface a document")
		return nil
	}
	return r.mapping("", document.Content[0], 1)
}

func (r *reader) value(path string, n *yaml.Node, depth int) any {
	switch {
	case depth > MaxDepth:
		r.refuse(path, fmt.Sprintf("it is nested deeper than %d levels", MaxDepth), "make it flatter")
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		r.refuse(path, "YAML's anchors and aliases are not read: what they expand to has no limit", "write it out, or use $defs and $ref")
	case n.Kind == yaml.MappingNode:
		return r.mapping(path, n, depth)
	case n.Kind == yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for i, item := range n.Content {
			list = append(list, r.value(join(path, strconv.Itoa(i)), item, depth+1))
		}
		return list
	default:
		return r.scalar(path, n)
	}
	return nil
}

func (r *reader) mapping(path string, n *yaml.Node, depth int) map[string]any {
	m := make(map[string]any, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		below := join(path, key.Value)
		if key.Kind != yaml.ScalarNode || key.Anchor != "" || key.ShortTag() == "!!merge" {
			r.refuse(path, fmt.Sprintf("a key in line %d is not one word of text", key.Line), "")
			continue
		}
		if _, twice := m[key.Value]; twice {
			r.refuse(below, fmt.Sprintf("the key is there twice (line %d)", key.Line), "keep one")
			continue
		}
		m[key.Value] = r.value(below, n.Content[i+1], depth+1)
	}
	return m
}

func (r *reader) scalar(path string, n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(n.Value, "true")
	case "!!int", "!!float":
		return r.number(path, n)
	case "!!str", "!!timestamp":
		return n.Value
	default:
		r.refuse(path, "values tagged "+strconv.Quote(n.Tag)+" are not read", "write plain text")
		return nil
	}
}

// number refuses what is so large or small that calculating with it exactly takes
// long: a schema has no use for it.
func (r *reader) number(path string, n *yaml.Node) any {
	var f float64
	if err := n.Decode(&f); err != nil || math.IsNaN(f) || math.Abs(f) > 1e15 || f != 0 && math.Abs(f) < 1e-15 {
		r.refuse(path, "it is not a number between 1e-15 and 1e15", "quote it if it is text")
		return nil
	}
	return json.Number(strconv.FormatFloat(f, 'f', -1, 64))
}

// join appends a name to a path. A name that would make it unreadable is
// shortened and quoted.
func join(path, name string) string {
	if strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c == 0x7f || c == 0xfffd }) {
		name = strconv.Quote(name)
	}
	if len(name) > 80 {
		name = strings.ToValidUTF8(name[:80], "") + "…"
	}
	if path == "" {
		return name
	}
	return path + "/" + name
}

// asMap returns v if it is a map, else none.
func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// asList returns v if it is a list, else none.
func asList(v any) []any {
	list, _ := v.([]any)
	return list
}
