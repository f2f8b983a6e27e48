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
				m.objects = append(m.objects, &annotated{scalar(o, "kind"), scalar(metadata, "name"), metadata, templateOf(o)})
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
	declared, place := o.declared(), slices.Index(m.objects, o)
	var changed []addition
	for _, a := range adds {
		list, err := joined(a, declared[a.key])
		if err != nil {
			return nil, fmt.Errorf("cannot change %s: %w", o, err)
		}
		if list != declared[a.key] {
			declared[a.key] = list
			changed = append(changed, addition{a.key, list})
		}
	}
	_, problems := application.Parse(values(child(o.metadata, "labels")), declared)
	if err := application.Refusals(problems); err != nil {
		return nil, fmt.Errorf("cannot change %s: %w", o, err)
	}
	for _, c := range slices.Backward(changed) { // a new annotation comes first
		var err error
		if m, err = m.set(m.objects[place], c.key, c.entry); err != nil {
			return nil, err
		}
	}
	return []byte(strings.Join(m.lines, "")), nil
}

// errForm is the error of YAML whose form is not edited.
var errForm = errors.New("cannot edit this form of YAML: write each annotation on a line of its own")

// set returns the manifest with another value of an annotation of an object. It is an error if
// anything else would change.
func (m *annotatedFile) set(o *annotated, key, value string) (*annotatedFile, error) {
	wanted := values(child(o.holder(key), "annotations"))
	wanted[key] = value
	before, err := m.without(o, key)
	if err != nil {
		return nil, err
	}
	after, err := parseAnnotated([]byte(m.edited(o.holder(key), key, value)), m.name)
	if err != nil || len(after.objects) != len(m.objects) {
		return nil, errForm
	}
	changed := after.objects[slices.Index(m.objects, o)]
	rest, err := after.without(changed, key)
	if err != nil || !maps.Equal(values(child(changed.holder(key), "annotations")), wanted) || !reflect.DeepEqual(before, rest) {
		return nil, errForm
	}
	return after, nil
}

// without returns the values of all documents without the annotations that hold a key of an object.
func (m *annotatedFile) without(o *annotated, key string) ([]any, error) {
	holder := o.holder(key)
	whole := holder.Content
	defer func() { holder.Content = whole }()
	holder.Content = nil
	for i := 0; i+1 < len(whole); i += 2 {
		if whole[i].Value != "annotations" {
			holder.Content = append(holder.Content, whole[i], whole[i+1])
		}
	}
	if len(whole)-len(holder.Content) > 2 {
		return nil, errForm // two annotations: readers take only one of them
	}
	all := make([]any, len(m.documents))
	for i, d := range m.documents {
		if err := d.Decode(&all[i]); err != nil {
			return nil, fmt.Errorf("cannot read the manifest %s: %w", m.name, err)
		}
	}
	return all, nil
}
