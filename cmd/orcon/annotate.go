package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// addition is an entry that a list in an annotation gets.
type addition struct{ key, entry string }

// annotatedFile is a manifest whose annotations are edited as text, so that everything else keeps
// its form.
type annotatedFile struct {
	name      string
	lines     []string // with their ends
	documents []*yaml.Node
	objects   []*annotated
}

// annotated is one object of a manifest.
type annotated struct {
	kind, name string
	metadata   *yaml.Node
}

// String returns KIND/NAME.
func (a *annotated) String() string { return a.kind + "/" + a.name }

// parseAnnotated reads the objects of a manifest.
func parseAnnotated(text []byte, name string) (*annotatedFile, error) {
	m := &annotatedFile{name: name, lines: strings.SplitAfter(string(text), "\n")}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		document := &yaml.Node{}
		err := decoder.Decode(document)
		if errors.Is(err, io.EOF) {
			return m, nil
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read the manifest %s: %w", name, err)
		}
		m.documents = append(m.documents, document)
		for _, o := range objectsOf(document) {
			if metadata := child(o, "metadata"); metadata != nil && metadata.Kind == yaml.MappingNode {
				m.objects = append(m.objects, &annotated{scalar(o, "kind"), scalar(metadata, "name"), annotationsOf(o, metadata)})
			}
		}
	}
}

// target returns the object that --object names, or the only one that can have the role: of a
// provider a Service, or for want of one a workload.
func (m *annotatedFile) target(role application.Role, named string) (*annotated, error) {
	services, workloads := m.ofKind("Service"), m.ofKind("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController",
		"Job", "CronJob", "Pod")
	all, fit := append(services, workloads...), services
	if role == application.Requirer {
		all, fit = workloads, workloads
	} else if len(services) == 0 {
		fit = workloads
	}
	if named != "" {
		fit = slices.DeleteFunc(slices.Clone(all), func(o *annotated) bool { return !strings.EqualFold(named, o.String()) })
	}
	switch {
	case len(all) == 0 && role == application.Requirer:
		return nil, fmt.Errorf("cannot add a consumer: %s has no workload (Deployment, StatefulSet, …)", m.name)
	case len(all) == 0:
		return nil, fmt.Errorf("cannot add a provider: %s has no Service and no workload", m.name)
	case len(fit) == 0:
		return nil, fmt.Errorf("cannot find object %s in %s: use --object with one of %s", named, m.name, names(all))
	case len(fit) > 1:
		return nil, fmt.Errorf("several objects of %s could be meant: use --object with one of %s", m.name, names(all))
	}
	return fit[0], nil
}

// ofKind returns the objects of some kinds.
func (m *annotatedFile) ofKind(kinds ...string) []*annotated {
	return slices.DeleteFunc(slices.Clone(m.objects), func(o *annotated) bool { return !slices.Contains(kinds, o.kind) })
}

func names(objects []*annotated) string {
	var all []string
	for _, o := range objects {
		all = append(all, o.String())
	}
	return strings.Join(all, ", ")
}

// add returns the text of the manifest with entries added to annotations of an object. It is an
// error if the declaration would not be valid, or if anything else would change.
func (m *annotatedFile) add(o *annotated, adds []addition) ([]byte, error) {
	annotations := values(child(o.metadata, "annotations"))
	changed := map[string]string{}
	for _, a := range adds {
		list, err := joined(a, annotations[a.key])
		if err != nil {
			return nil, fmt.Errorf("cannot change %s: %w", o, err)
		}
		if list != annotations[a.key] {
			annotations[a.key], changed[a.key] = list, list
		}
	}
	_, problems := application.Parse(values(child(o.metadata, "labels")), annotations)
	if err := application.Refusals(problems); err != nil {
		return nil, fmt.Errorf("cannot change %s: %w", o, err)
	}
	before := []byte(strings.Join(m.lines, ""))
	if len(changed) == 0 {
		return before, nil
	}
	after := []byte(m.edited(o, adds, changed))
	return after, m.onlyAnnotated(o, after, annotations)
}

// errForm is the error of YAML whose form is not edited.
var errForm = errors.New("cannot edit this form of YAML: write each annotation on a line of its own")

// onlyAnnotated returns an error unless a text is the same manifest but for the annotations of one
// object, which are the wanted ones.
func (m *annotatedFile) onlyAnnotated(o *annotated, text []byte, wanted map[string]string) error {
	after, err := parseAnnotated(text, m.name)
	if err != nil || len(after.objects) != len(m.objects) {
		return errForm
	}
	changed := after.objects[slices.Index(m.objects, o)]
	if !maps.Equal(values(child(changed.metadata, "annotations")), wanted) {
		return errForm
	}
	before, err := m.without(o)
	if err != nil {
		return err
	}
	if rest, err := after.without(changed); err != nil || !reflect.DeepEqual(before, rest) {
		return errForm
	}
	return nil
}

// without returns the values of all documents without the annotations of one object.
func (m *annotatedFile) without(o *annotated) ([]any, error) {
	for i := 0; i < len(o.metadata.Content); i += 2 {
		if o.metadata.Content[i].Value == "annotations" {
			o.metadata.Content = slices.Delete(o.metadata.Content, i, i+2)
		}
	}
	all := make([]any, len(m.documents))
	for i, d := range m.documents {
		if err := d.Decode(&all[i]); err != nil {
			return nil, fmt.Errorf("cannot read the manifest %s: %w", m.name, err)
		}
	}
	return all, nil
}
