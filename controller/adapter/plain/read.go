package plain

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Read returns the objects of all manifests of a tree: files that end in .yaml, .yml or
// .json, in the order of their paths, and in a file from top to bottom. Errors name the
// file, the document, the line, the reason and the cure, and all of them are told at
// once; then there are no objects. Two objects with one name are an error.
func Read(tree *bundle.Tree) ([]bundle.Object, error) {
	r := reader{seen: map[bundle.ID]document{}}
	var failed []error
	for _, name := range tree.Paths() {
		if !isManifest(name) {
			continue
		}
		f, _ := tree.File(name)
		documents, err := split(name, f.Content)
		failed = append(failed, err)
		for _, d := range documents {
			failed = append(failed, r.read(d))
		}
	}
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	return r.objects, nil
}

// reader collects objects.
type reader struct {
	objects []bundle.Object
	// seen is where each object stands.
	seen map[bundle.ID]document
}

func (r *reader) read(d document) error {
	text, err := yaml.YAMLToJSONStrict(d.text)
	if err != nil {
		return d.fault(inFile(d, err), "write a Kubernetes object in YAML or JSON")
	}
	if bytes.Equal(text, []byte("null")) {
		return nil
	}
	var o bundle.Object
	if err := json.Unmarshal(text, (*map[string]any)(&o)); err != nil {
		return d.fault(errors.New("it is not a Kubernetes object"), "an object is a map with apiVersion, kind and metadata")
	}
	return r.add(d, o)
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
func (r *reader) add(d document, o bundle.Object) error {
	kind := o.Text("kind")
	if items, ok := o["items"].([]any); ok && strings.HasSuffix(kind, "List") {
		var failed []error
		for i, item := range items {
			each, ok := item.(map[string]any)
			if !ok {
				failed = append(failed, d.fault(fmt.Errorf("items[%d] is not a Kubernetes object", i), "a list holds objects"))
				continue
			}
			failed = append(failed, r.add(d, each))
		}
		return errors.Join(failed...)
	}
	if err := check(d, o); err != nil {
		return err
	}
	if first, twice := r.seen[o.ID()]; twice {
		return d.fault(fmt.Errorf("%s is defined twice, first in %s, document %d (line %d)", o.ID(), first.file, first.number, first.line),
			"keep one of the two")
	}
	r.seen[o.ID()] = d
	r.objects = append(r.objects, o)
	return nil
}

// check looks for what each object needs to be found again.
func check(d document, o bundle.Object) error {
	switch {
	case o.Text("apiVersion") == "":
		return d.fault(errors.New("apiVersion is missing"),
			"add it, for example apiVersion: v1; a file that is not a manifest needs another name or place")
	case o.Text("kind") == "":
		return d.fault(errors.New("kind is missing"), "add it, for example kind: ConfigMap")
	case o.Text("metadata", "name") != "":
		return nil
	case o.Text("metadata", "generateName") != "":
		return d.fault(fmt.Errorf("%s has metadata.generateName", o.Text("kind")),
			"use metadata.name: an object with a generated name cannot be found again")
	case strings.HasPrefix(o.Text("apiVersion"), "kustomize.config.k8s.io/"):
		return d.fault(errors.New("it is a kustomization"), "render with format kustomize")
	default:
		return d.fault(fmt.Errorf("%s has no metadata.name", o.Text("kind")), "add it")
	}
}
