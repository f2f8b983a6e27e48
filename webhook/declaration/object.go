package declaration

import (
	"maps"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// object is the part of a Service or workload that is read.
type object struct {
	Metadata injection.Metadata `json:"metadata"`
	Spec     struct {
		// Ports are those of a Service.
		Ports       []struct{} `json:"ports"`
		Template    *template  `json:"template"`
		JobTemplate struct {
			Metadata injection.Metadata `json:"metadata"`
			Spec     struct {
				Template *template `json:"template"`
			} `json:"spec"`
		} `json:"jobTemplate"`
	} `json:"spec"`
}

// template is a pod template.
type template struct {
	Metadata *injection.Metadata `json:"metadata"`
	Spec     injection.Spec      `json:"spec"`
}

// templatePath is where the pod template of a kind is; empty for a kind
// without pods.
func templatePath(kind string) string {
	switch kind {
	case "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job":
		return "/spec/template"
	case "CronJob":
		return "/spec/jobTemplate/spec/template"
	default:
		return ""
	}
}

// pointerToField turns a JSON Pointer into the path people write.
func pointerToField(pointer string) string {
	return strings.ReplaceAll(strings.TrimPrefix(pointer, "/"), "/", ".")
}

func (o *object) template() *template {
	if o.Spec.Template != nil {
		return o.Spec.Template
	}
	return o.Spec.JobTemplate.Spec.Template
}

func (o *object) templateHasMetadata() bool {
	t := o.template()
	return t != nil && t.Metadata != nil
}

func (o *object) workload(path string) injection.Workload {
	w := injection.Workload{Metadata: o.Metadata, Path: path}
	if t := o.template(); t != nil {
		w.Template.Spec = t.Spec
		if t.Metadata != nil {
			w.Template.Metadata = *t.Metadata
		}
	}
	return w
}

// place is one metadata in which something is declared.
type place struct {
	path                string
	labels, annotations map[string]string
	// beside holds the keys that count here although they are written elsewhere.
	beside map[string]string
	// copied has the keys whose origin is judged where it was written.
	copied map[string]string
	// pod is that of the template, where the injector's own keys are read; else nil.
	pod *injection.Spec
	// elsewhere is set where the injector's own keys do nothing, and unread where no key does anything.
	elsewhere, unread bool
	// service is set for a Service, and noPort for one without ports.
	service, noPort bool
}

// bare returns the one place of a pod that a person makes and that gets no agent.
func (o *object) bare() []place {
	return []place{{path: "metadata", labels: o.Metadata.Labels, annotations: o.Metadata.Annotations}}
}

// service returns the one place of a Service.
func (o *object) service() []place {
	return []place{{path: "metadata", labels: o.Metadata.Labels, annotations: o.Metadata.Annotations, elsewhere: true,
		service: true, noPort: len(o.Spec.Ports) == 0}}
}

// places returns the places of a workload, whose template has these annotations: its own and the template's, and those of the
// Jobs of a CronJob, which have no effect.
func (o *object) places(path string, template map[string]string, services []injection.Service) []place {
	w := o.workload(path)
	pods := w.Template.Metadata
	pods.Annotations = template
	related := map[string]string{}
	for _, s := range services {
		if value, there := s.Annotations[application.KeyRelations]; there && application.Selects(s.Selector, pods.Labels) {
			related[application.KeyRelations] = value
		}
	}
	all := []place{
		{path: "metadata", labels: o.Metadata.Labels, annotations: o.Metadata.Annotations,
			beside: union(related, pods.Annotations), elsewhere: true},
		{path: pointerToField(path) + ".metadata", labels: pods.Labels, annotations: pods.Annotations,
			beside: union(related, o.Metadata.Annotations), copied: injection.CopiedKeys(pods.Annotations), pod: &w.Template.Spec},
	}
	if jobs := o.Spec.JobTemplate.Metadata; len(jobs.Annotations) > 0 {
		all = append(all, place{path: "spec.jobTemplate.metadata", annotations: jobs.Annotations, unread: true})
	}
	return all
}

func union(a, b map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}

// field names a key of the place as people write it.
func (p place) field(key string) string {
	kind := "annotations"
	if _, annotated := p.annotations[key]; !annotated && key != "" {
		if _, labelled := p.labels[key]; labelled {
			kind = "labels"
		}
	}
	return p.path + "." + kind
}

// shape is the pod of the place, as far as it is known.
func (p place) shape() *injection.Shape {
	shape := &injection.Shape{Metadata: injection.Metadata{Annotations: p.annotations}}
	if p.pod != nil {
		shape.Spec = *p.pod
	}
	return shape
}

// value returns what is written under a key.
func (p place) value(key string) string { return p.labels[key] + "\x00" + p.annotations[key] }

// wrote reports whether the key is written here, and not copied here.
func (p place) wrote(key string) bool {
	_, annotated := p.annotations[key]
	_, labelled := p.labels[key]
	_, copied := p.copied[key]
	return (annotated || labelled) && !copied
}
