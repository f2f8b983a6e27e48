package plain

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Manifest is one document of a file, before it is checked.
type Manifest struct {
	bundle.Object

	// Location names the file, the document and its line.
	Location string
}

// Read returns the objects of all manifests of a tree (Manifests), checked (Check).
func Read(tree *bundle.Tree) ([]bundle.Object, error) {
	manifests, unread := Manifests(tree)
	objects, wrong := Check(manifests)
	if err := errors.Join(unread, wrong); err != nil {
		return nil, err
	}
	return objects, nil
}

// Manifests returns the documents of a tree's manifests: files that end in .yaml, .yml or .json, in the order of
// their paths, and in a file from top to bottom. The error lists the documents that cannot be read, with file,
// document, line, reason and cure; the others are returned.
func Manifests(tree *bundle.Tree) ([]Manifest, error) {
	var all []Manifest
	var failed []error
	for _, name := range tree.Paths() {
		if !IsManifest(name) {
			continue
		}
		f, _ := tree.File(name)
		documents, err := split(name, f.Content)
		failed = append(failed, err)
		for _, d := range documents {
			o, err := d.object()
			failed = append(failed, err)
			if o != nil {
				all = append(all, Manifest{o, d.location()})
			}
		}
	}
	return all, errors.Join(failed...)
}

// Check returns the objects of manifests, and those of lists in their place. The error lists everything that
// an object lacks to be found again, with location, reason and cure; then there are no objects. Two objects with
// one name are an error.
func Check(manifests []Manifest) ([]bundle.Object, error) {
	c := checker{seen: map[bundle.ID]string{}}
	var failed []error
	for _, m := range manifests {
		failed = append(failed, c.add(m))
	}
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	return c.objects, nil
}

// checker collects objects.
type checker struct {
	objects []bundle.Object
	// seen has the location of each object.
	seen map[bundle.ID]string
}

// object returns the object of a document; nil if it is empty.
func (d document) object() (bundle.Object, error) {
	text, err := yaml.YAMLToJSONStrict(d.text)
	if err != nil {
		return nil, fault(d.location(), inFile(d, err), "write a Kubernetes object in YAML or JSON")
	}
	if bytes.Equal(text, []byte("null")) {
		return nil, nil
	}
	var o bundle.Object
	if err := json.Unmarshal(text, (*map[string]any)(&o)); err != nil {
		return nil, fault(d.location(), errors.New("it is not a Kubernetes object"), "an object is a map with apiVersion, kind and metadata")
	}
	return o, nil
}

// inFile returns the error that a document's text gives, with its lines counted as the
// file counts them.
func inFile(d document, err error) error {
	if _, moved := yaml.YAMLToJSONStrict(append(bytes.Repeat([]byte("\n"), d.line-1), d.text...)); moved != nil {
		return moved
	}
	return err
}

// add takes an object, or those of a list.
func (c *checker) add(m Manifest) error {
	if items, ok := m.list(); ok {
		var failed []error
		for i, item := range items {
			each, ok := item.(map[string]any)
			if !ok {
				failed = append(failed, fault(m.Location, fmt.Errorf("items[%d] is not a Kubernetes object", i), "a list holds objects"))
				continue
			}
			failed = append(failed, c.add(Manifest{m.item(each), m.Location}))
		}
		return errors.Join(failed...)
	}
	if err := m.check(); err != nil {
		return err
	}
	if first, twice := c.seen[m.ID()]; twice {
		return fault(m.Location, fmt.Errorf("%s is defined twice, first in %s", m.ID(), first), "keep one of the two")
	}
	c.seen[m.ID()] = m.Location
	c.objects = append(c.objects, m.Object)
	return nil
}

// list returns the items of a list, which has no name of its own (CONTENT.md X4).
func (m Manifest) list() (items []any, ok bool) {
	value, found := m.Object["items"]
	if !found || !strings.HasSuffix(m.Text("kind"), "List") || m.Text("metadata", "name") != "" {
		return nil, false
	}
	items, ok = value.([]any)
	return items, ok || value == nil
}

// item returns an item of a list, whose kind says that of items that have none, as in ConfigMapList.
func (m Manifest) item(o bundle.Object) bundle.Object {
	kind := strings.TrimSuffix(m.Text("kind"), "List")
	if kind == "" || o.Text("kind") != "" || o.Text("apiVersion") != "" {
		return o
	}
	o = maps.Clone(o)
	o["apiVersion"], o["kind"] = m.Object["apiVersion"], kind
	return o
}

// check looks for what each object needs to be found again.
func (m Manifest) check() error {
	switch {
	case m.Text("apiVersion") == "":
		return fault(m.Location, errors.New("apiVersion is missing"),
			"add it, for example apiVersion: v1; a file that is not a manifest needs another name or place")
	case m.Text("kind") == "":
		return fault(m.Location, errors.New("kind is missing"), "add it, for example kind: ConfigMap")
	case m.Text("metadata", "name") != "":
		return nil
	case m.Text("metadata", "generateName") != "":
		return fault(m.Location, fmt.Errorf("%s has metadata.generateName", m.Text("kind")),
			"use metadata.name: an object with a generated name cannot be found again")
	case strings.HasPrefix(m.Text("apiVersion"), "kustomize.config.k8s.io/"):
		return fault(m.Location, errors.New("it is a kustomization"), "render with format kustomize")
	default:
		return fault(m.Location, fmt.Errorf("%s has no metadata.name", m.Text("kind")), "add it")
	}
}
