package simulation

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// object is a Service or a workload as a person wrote it.
type object struct {
	kind, name string
	service    application.Service
	workload   application.Workload
}

// manifest is the part of a manifest that is read, in Kubernetes' own form.
type manifest struct {
	Kind     string
	Metadata metadata
	Spec     struct {
		Replicas     *int
		Selector     yaml.Node
		ExternalName string `yaml:"externalName"`
		Ports        []port
		Template     template
		JobTemplate  struct{ Spec struct{ Template template } } `yaml:"jobTemplate"`
	}
}

type metadata struct {
	Name                string
	Labels, Annotations map[string]string
}

type template struct{ Metadata metadata }

type port struct {
	Name        string
	Port        int
	AppProtocol string `yaml:"appProtocol"`
}

// kinds returns the kinds that Orcon relates.
func kinds() []string {
	return []string{"Service", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "Pod"}
}

// readManifests reads the objects of a file: in Kubernetes' form, or in the short
// one, whose keys are "Kind name". Others are named as left out.
func readManifests(text string) (objects []object, leftOut []string, err error) {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return objects, leftOut, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("cannot read the manifest: %w", err)
		}
		found, left, err := readDocument(&document)
		if err != nil {
			return nil, nil, err
		}
		objects, leftOut = append(objects, found...), append(leftOut, left...)
	}
}

func readDocument(document *yaml.Node) ([]object, []string, error) {
	if len(document.Content) == 0 || document.Content[0].Tag == "!!null" {
		return nil, nil, nil
	}
	root := document.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, nil, fmt.Errorf("line %d: an object begins with its kind and name, as Service db", root.Line)
	}
	var m manifest
	if err := root.Decode(&m); err == nil && m.Kind != "" {
		o, known, err := m.object()
		if !known {
			return nil, []string{m.Kind + " " + m.Metadata.Name}, nil
		}
		return []object{o}, nil, err
	} else if err != nil && hasKey(root, "kind") {
		return nil, nil, fmt.Errorf("cannot read the manifest: %w", err)
	}
	var all []object
	for i := 0; i+1 < len(root.Content); i += 2 {
		o, err := readShort(root.Content[i], root.Content[i+1])
		if err != nil {
			return nil, nil, err
		}
		all = append(all, o)
	}
	return all, nil, nil
}

func hasKey(mapping *yaml.Node, key string) bool {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return true
		}
	}
	return false
}

// object turns a manifest into what is observed of it.
func (m *manifest) object() (object, bool, error) {
	o := object{kind: m.Kind, name: m.Metadata.Name}
	if !slices.Contains(kinds(), m.Kind) {
		return o, false, nil
	}
	meta := application.Object{Name: o.name, Labels: m.Metadata.Labels, Annotations: m.Metadata.Annotations}
	if m.Kind == "Service" {
		o.service = application.Service{Object: meta, ExternalName: m.Spec.ExternalName}
		for _, p := range m.Spec.Ports {
			o.service.Ports = append(o.service.Ports, application.Port{Name: p.Name, Number: p.Port, Protocol: p.AppProtocol})
		}
		if m.Spec.ExternalName != "" || m.Spec.Selector.IsZero() {
			return o, true, nil
		}
		if err := m.Spec.Selector.Decode(&o.service.Selector); err != nil {
			return o, true, fmt.Errorf("cannot read the selector of Service %s: %w", o.name, err)
		}
		return o, true, nil
	}
	t := m.Spec.Template.Metadata
	switch m.Kind {
	case string(application.CronJob):
		t = m.Spec.JobTemplate.Spec.Template.Metadata
	case string(application.BarePod):
		t = m.Metadata
	}
	o.workload = application.Workload{
		Object: meta, Kind: application.WorkloadKind(m.Kind), TemplateLabels: t.Labels, TemplateAnnotations: t.Annotations, Replicas: 1,
	}
	if m.Spec.Replicas != nil {
		o.workload.Replicas = *m.Spec.Replicas
	}
	return o, true, nil
}
