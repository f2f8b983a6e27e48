package main

import (
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// What the manifests of deployment/ say in the places that values change.
const (
	localRegistry  = "localhost/orcon"
	localTag       = "dev"
	orconNamespace = "orcon-system"
	// configurationKey is the entry of a ConfigMap that the value "configuration" replaces.
	configurationKey = "tenguconfig.yaml"
)

// podFields are fields of every workload's pods that are set where there is a value of
// that name.
const podFields = "imagePullSecrets nodeSelector tolerations"

// places lists the locations in the manifests that values change.
type places struct {
	// images are the names of all images.
	images map[string]bool
	// workloads have replicas and resources, by the value's name.
	workloads map[string]workload
	// configuration is the text of configurationKey.
	configuration *string
}

// workload is the part of a Deployment that the chart reads.
type workload struct {
	Replicas  any `json:"replicas"`
	Resources any `json:"resources"`
	// Allows reports that it has the flag allowFlag, which the value "allow" is for.
	Allows bool `json:"-"`
}

// allowFlag is the argument for servers that are allowed (TRUST.md R4).
const allowFlag = "-allow="

// An expression stands in an object as mark, its text and mark again, until the object is
// YAML: no text of a manifest has such a mark, and YAML writes it as it is.
const mark = "__template__"

// expression holds a template's expression in a string that YAML does not change.
func expression(text string) string { return fmt.Sprintf("%s%x%s", mark, text, mark) }

// marked is an expression in YAML.
var marked = regexp.MustCompile(mark + `([0-9a-f]+)` + mark)

// optional is a line for a field that is there only where it has a value.
var optional = regexp.MustCompile(`(?m)^( +)(\w+): ` + mark + `$`)

// template returns an object as a document of a template.
func (p *places) template(o bundle.Object) (string, error) {
	id := o.ID()
	if strings.Contains(fmt.Sprint(o), mark) {
		return "", fmt.Errorf("cannot make a template of %s: it contains %q, which marks expressions", id, mark)
	}
	lasts := o.Annotation(bundle.PruneKey) == string(bundle.PruneNever)
	o, _ = p.walk(map[string]any(o)).(map[string]any)
	if lasts {
		keep(o)
	}
	switch id.Kind {
	case "Deployment":
		if err := p.deployment(id.Name, o); err != nil {
			return "", err
		}
	case "ConfigMap":
		p.configMap(o)
	}
	text, err := yaml.Marshal(o)
	if err != nil {
		return "", fmt.Errorf("cannot write the template of %s: %w", id, err)
	}
	all := strings.ReplaceAll(string(text), "{{", `{{ "{{" }}`)
	all = optional.ReplaceAllString(all, "{{- with .Values.$2 }}\n$1$2: {{ toJson . }}\n{{- end }}")
	all = marked.ReplaceAllStringFunc(all, func(found string) string {
		plain, _ := hex.DecodeString(marked.FindStringSubmatch(found)[1]) // expression encoded it
		return "{{ " + string(plain) + " }}"
	})
	all = "---\n" + all
	switch id.Kind {
	case "Namespace":
		all = "{{- if .Values.namespace.create }}\n" + all + "{{- end }}\n"
	case "CustomResourceDefinition":
		all = "{{- if .Values.crds.enabled }}\n" + all + "{{- end }}\n"
	}
	return all, nil
}

// walk returns a copy of a value in which images and the namespace are expressions.
func (p *places) walk(value any) any {
	switch v := value.(type) {
	case map[string]any:
		all := make(map[string]any, len(v))
		for name, below := range v {
			all[name] = p.walk(below)
		}
		return all
	case []any:
		all := make([]any, len(v))
		for i, below := range v {
			all[i] = p.walk(below)
		}
		return all
	case string:
		return p.text(v)
	}
	return value
}

func (p *places) text(text string) string {
	if name, found := strings.CutPrefix(text, localRegistry+"/"); found {
		name = strings.TrimSuffix(name, ":"+localTag)
		p.images[name] = true
		return expression(fmt.Sprintf(`include "orcon.image" (dict "root" $ "name" %q) | quote`, name))
	}
	if text == orconNamespace {
		return expression(".Release.Namespace | quote")
	}
	return strings.ReplaceAll(text, orconNamespace, expression(".Release.Namespace"))
}

// deployment puts expressions for what values say of a workload. Its resources are those of
// the container that has its name.
func (p *places) deployment(name string, o map[string]any) error {
	spec, _ := o["spec"].(map[string]any)
	template, _ := spec["template"].(map[string]any)
	pod, _ := template["spec"].(map[string]any)
	containers, _ := pod["containers"].([]any)
	i := slices.IndexFunc(containers, func(c any) bool {
		container, _ := c.(map[string]any)
		return container["name"] == name
	})
	if i < 0 {
		return fmt.Errorf("cannot make a template of Deployment %s: no container has its name", name)
	}
	container, _ := containers[i].(map[string]any)
	values := ".Values." + key(name)
	args, _ := container["args"].([]any)
	allows := slices.Index(args, any(allowFlag))
	if allows >= 0 {
		args[allows] = expression(fmt.Sprintf(`printf "%s%%s" (join "," %s.allow) | quote`, allowFlag, values))
	}
	p.workloads[key(name)] = workload{Replicas: spec["replicas"], Resources: container["resources"], Allows: allows >= 0}
	spec["replicas"] = expression(values + ".replicas")
	container["resources"] = expression("toJson " + values + ".resources")
	for field := range strings.FieldsSeq(podFields) {
		if pod[field] != nil {
			return fmt.Errorf("cannot make a template of Deployment %s: it sets %s, which is a value of the chart", name, field)
		}
		pod[field] = mark
	}
	return nil
}

func (p *places) configMap(o map[string]any) {
	data, _ := o["data"].(map[string]any)
	if text, found := data[configurationKey].(string); found {
		p.configuration = &text
		data[configurationKey] = expression("toJson .Values.configuration")
	}
}

// keep has Helm leave an object where it is when the release is uninstalled, as the other tools do that deploy it. With a
// definition all objects of its kind would go, and with them every relation; with a claim for a volume the states of all
// runs; with the policy that keeps definitions, what refuses their deletion.
func keep(o map[string]any) {
	metadata, _ := o["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	annotations = maps.Clone(annotations)
	if annotations == nil {
		annotations = map[string]any{}
	}
	annotations["helm.sh/resource-policy"] = "keep"
	metadata["annotations"] = annotations
}
