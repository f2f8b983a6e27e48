package bundle

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Object is one object of a cluster in the form of JSON: maps, lists, strings, booleans,
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

// builtin are the groups of Kubernetes whose kinds no other group of it repeats: texts for
// people name such a kind without its group.
//
//nolint:gochecknoglobals // a table
var builtin = []string{
	"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "apps", "autoscaling", "batch",
	"coordination.k8s.io", "discovery.k8s.io", "networking.k8s.io", "node.k8s.io", "policy",
	"rbac.authorization.k8s.io", "scheduling.k8s.io", "storage.k8s.io",
}

// String names the object for people: "Deployment shop/web", "Widget.example.org shop/web".
func (id ID) String() string {
	if slices.Contains(builtin, id.Group) {
		id.Group = ""
	}
	return id.canonical()
}

// canonical returns "Kind.group namespace/name", without what is empty. Digests are made of
// it: it never changes.
func (id ID) canonical() string {
	name := id.Name
	if id.Namespace != "" {
		name = id.Namespace + "/" + name
	}
	return id.kind() + " " + name
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

// At returns the value at a path of names; nil if there is none.
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
// sorted, no space. The error reports a value that JSON
// cannot hold.
func (o Object) Canonical() ([]byte, error) {
	text, err := json.Marshal(map[string]any(o))
	if err != nil {
		return nil, fmt.Errorf("cannot write %s as JSON: %w", o.ID(), err)
	}
	return text, nil
}
