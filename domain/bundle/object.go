package bundle

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
)

// Object is one object of a cluster as JSON has it: maps, lists, strings, booleans,
// nil, and numbers as int64 or float64.
type Object map[string]any

// ID names an object in a cluster. Two versions of one kind have the same ID.
type ID struct {
	// Group is the API group, empty for the core.
	Group string
	Kind  string
	// Namespace is empty for what belongs to the whole cluster.
	Namespace, Name string
}

// String returns "Kind.group namespace/name", without what is empty.
func (id ID) String() string {
	kind := id.Kind
	if id.Group != "" {
		kind += "." + id.Group
	}
	name := id.Name
	if id.Namespace != "" {
		name = id.Namespace + "/" + name
	}
	return kind + " " + name
}

// Compare orders IDs by group, kind, namespace and name.
func (id ID) Compare(other ID) int {
	return cmp.Or(cmp.Compare(id.Group, other.Group), cmp.Compare(id.Kind, other.Kind),
		cmp.Compare(id.Namespace, other.Namespace), cmp.Compare(id.Name, other.Name))
}

// ID returns the object's name in the cluster. What is missing is empty.
func (o Object) ID() ID {
	group, _, found := strings.Cut(o.Text("apiVersion"), "/")
	if !found {
		group = ""
	}
	return ID{Group: group, Kind: o.Text("kind"), Namespace: o.Text("metadata", "namespace"), Name: o.Text("metadata", "name")}
}

// Annotation returns one of the object's annotations; empty if there is none.
func (o Object) Annotation(key string) string { return o.Text("metadata", "annotations", key) }

// Text returns the string at a path of names; empty if there is none.
func (o Object) Text(path ...string) string {
	text, _ := o.At(path...).(string)
	return text
}

// At returns what lies at a path of names; nil if nothing does.
func (o Object) At(path ...string) any {
	var at any = map[string]any(o)
	for _, name := range path {
		fields, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = fields[name]
	}
	return at
}

// Canonical returns the object as JSON in which equal objects are equal bytes: names
// sorted, no space. An error means that it holds what JSON has not.
func (o Object) Canonical() ([]byte, error) {
	text, err := json.Marshal(map[string]any(o))
	if err != nil {
		return nil, fmt.Errorf("cannot write %s as JSON: %w", o.ID(), err)
	}
	return text, nil
}
