package data

import (
	"fmt"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// value is a part of a document.
type value struct {
	document document
	pointer  string
	// node is nil for a field that is absent.
	node *yaml.Node
}

// pair is one entry of a mapping.
type pair struct {
	name  string
	key   Location
	value value
}

// follow returns the node that an alias stands for.
func follow(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

// absent reports a field that is missing or null.
func (v value) absent() bool { return v.node == nil || v.node.ShortTag() == "!!null" }

// location returns where the value is.
func (v value) location() Location { return v.locate(v.node) }

func (v value) locate(node *yaml.Node) Location {
	l := Location{File: v.document.path, Pointer: v.pointer}
	if node != nil && v.document.lines {
		l.Line = node.Line
	}
	return l
}

// refuse returns a problem of the value.
func (v value) refuse(reason, cure string) []Problem {
	return []Problem{{v.location(), reason, cure}}
}

// below returns a part of the value.
func (v value) below(name string, node *yaml.Node) value {
	return value{v.document, below(v.pointer, name), follow(node)}
}

// below returns the JSON pointer of a field below a pointer.
func below(pointer, name string) string {
	return pointer + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// child returns a field of a mapping, or the value itself if it has no such field.
func (v value) child(name string) value {
	fields, _ := v.fields()
	for _, f := range fields {
		if f.name == name {
			return f.value
		}
	}
	return v
}

// items returns the elements of a list.
func (v value) items() ([]value, []Problem) {
	if v.absent() {
		return nil, nil
	}
	if v.node.Kind != yaml.SequenceNode {
		return nil, v.refuse("it is not a list", "begin each element with a dash")
	}
	var all []value
	for i, node := range v.node.Content {
		all = append(all, v.below(strconv.Itoa(i), node))
	}
	return all, nil
}

// fields returns the entries of a mapping in their order, merged ones (<<) last.
// Merged mappings must not merge further: that would allow exponential documents.
func (v value) fields() ([]pair, []Problem) {
	if v.absent() {
		return nil, nil
	}
	if v.node.Kind != yaml.MappingNode {
		return nil, v.refuse("it is not a mapping", "write its fields as name: value")
	}
	own, merged, problems := v.entries()
	known := map[string]bool{}
	for _, f := range own {
		known[f.name] = true
	}
	for _, m := range merged {
		if m.node.Kind != yaml.MappingNode {
			problems = append(problems, m.refuse("only mappings can be merged", "name an anchor of a mapping")...)
			continue
		}
		more, nested, found := m.entries()
		problems = append(problems, found...)
		if len(nested) > 0 {
			problems = append(problems, m.refuse("a merged mapping merges another one", "write its fields out")...)
		}
		for _, f := range more {
			if !known[f.name] {
				own, known[f.name] = append(own, f), true
			}
		}
	}
	return own, problems
}

// entries returns a mapping's own fields and the values that it merges.
func (v value) entries() (own []pair, merged []value, problems []Problem) {
	content, known := v.node.Content, map[string]bool{}
	for i := 0; i+1 < len(content); i += 2 {
		key, node := content[i], follow(content[i+1])
		if key.Value == "<<" && key.Style == 0 {
			merged = append(merged, v.sources(node)...)
			continue
		}
		below := v.below(key.Value, node)
		f := pair{key.Value, below.locate(key), below}
		if known[f.name] {
			problems = append(problems, Problem{f.key, fmt.Sprintf("field %q is written twice", f.name), "keep one"})
			continue
		}
		own, known[f.name] = append(own, f), true
	}
	return own, merged, problems
}

// sources returns the mappings that a merge key names: one, or a list.
func (v value) sources(node *yaml.Node) []value {
	if node.Kind != yaml.SequenceNode {
		return []value{v.below("<<", node)}
	}
	var all []value
	for _, n := range node.Content {
		all = append(all, v.below("<<", n))
	}
	return all
}
