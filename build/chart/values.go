package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// values returns values.yaml: every value with its default, which is the manifests' value, and its purpose.
func (p *places) values(o options, m manifests) (string, error) {
	if p.configuration == nil {
		return "", errors.New("cannot find the webhook's configuration in the manifests")
	}
	var b strings.Builder
	add := func(comment, name string, value any) error { return writeValue(&b, comment, name, value) }
	fmt.Fprint(&b, "# Every value of the chart, with its default. The defaults are Orcon's kustomize manifests.\n\n")
	err := errors.Join(
		add("The registry of all images, with its path.", "registry", o.registry),
		add("The tag of all images. Empty: the chart's appVersion.", "tag", ""),
		add(`Whole references that replace registry/NAME:tag, for example to pin a digest.
relation-agent is the image that is injected into pods.`, "images", p.noImages()),
		add("Who issues the certificates of Orcon's servers: "+strings.Join(names(m.variants), " or ")+`.
selfsigned: Orcon has an authority of its own. certmanager: cert-manager must be installed.`, "certificates", "selfsigned"),
		add(`Whether the chart contains the release's namespace, with Pod Security labels: for helm
template. helm install and orcon install need the namespace before (--create-namespace).`, "namespace", map[string]any{"create": false}),
		add(`Whether the chart contains Orcon's CustomResourceDefinitions, so that upgrades upgrade
them. helm uninstall leaves them and all their objects in the cluster.`, "crds", map[string]any{"enabled": true}),
		add(`Secrets with credentials for the registry, for Orcon's own pods: [{name: NAME}]. The
injected agent's are named in the configuration.`, "imagePullSecrets", []any{}),
		add("The nodes that Orcon's pods run on.", "nodeSelector", map[string]any{}),
		add("The taints that Orcon's pods tolerate.", "tolerations", []any{}),
		add("The webhook's configuration: what is injected.", "configuration", *p.configuration),
		p.workloadValues(m, add),
	)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// writeValue writes a value below its comment.
func writeValue(b *strings.Builder, comment, name string, value any) error {
	text, err := yaml.Marshal(map[string]any{name: value})
	if err != nil {
		return fmt.Errorf("cannot write value %s: %w", name, err)
	}
	for line := range strings.SplitSeq(comment, "\n") {
		fmt.Fprintf(b, "# %s\n", line)
	}
	fmt.Fprintf(b, "%s\n", text)
	return nil
}

// workloadValues adds the values of each Deployment, in order.
func (p *places) workloadValues(m manifests, add func(comment, name string, value any) error) error {
	var err error
	for _, name := range slices.Sorted(maps.Keys(p.workloads)) {
		w := map[string]any{"replicas": p.workloads[name].Replicas, "resources": p.workloads[name].Resources}
		comment := "Deployment " + kebab(name) + "."
		if slices.Contains(names(m.addOns), kebab(name)) {
			w["enabled"] = false
			comment = "Deployment " + kebab(name) + ", which is optional."
		}
		if p.workloads[name].Allows {
			w["allow"] = []any{}
			comment += "\nallow: servers in the cluster that sources may name: networks, addresses, hosts."
		}
		err = errors.Join(err, add(comment, name, w))
	}
	for _, name := range p.bare(m) {
		err = errors.Join(err, add("Add-on "+kebab(name)+", which is optional and has no Deployment.", name, map[string]any{"enabled": false}))
	}
	return err
}

// bare returns the names of the values of add-ons without a Deployment.
func (p *places) bare(m manifests) []string {
	var all []string
	for _, name := range names(m.addOns) {
		if _, has := p.workloads[key(name)]; !has {
			all = append(all, key(name))
		}
	}
	return all
}

func (p *places) noImages() map[string]any {
	all := map[string]any{}
	for name := range p.images {
		all[name] = ""
	}
	return all
}

func names(all []variant) []string {
	var names []string
	for _, v := range all {
		names = append(names, v.name)
	}
	return names
}

// kebab is the opposite of key.
func kebab(key string) string {
	var b strings.Builder
	for _, r := range key {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('-')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// schema returns values.schema.json, by which Helm refuses values that mean nothing.
func (p *places) schema(m manifests) (string, error) {
	text, list, object := typed("string"), typed("array"), typed("object")
	images := map[string]any{}
	for name := range p.images {
		images[name] = text
	}
	properties := map[string]any{
		"registry": text, "tag": text, "images": strict(images), "configuration": text,
		"certificates":     map[string]any{"enum": names(m.variants)},
		"namespace":        strict(map[string]any{"create": typed("boolean")}),
		"crds":             strict(map[string]any{"enabled": typed("boolean")}),
		"imagePullSecrets": list, "nodeSelector": object, "tolerations": list,
		"global": object, // Helm's own
	}
	for name := range p.workloads {
		properties[name] = workloadSchema(slices.Contains(names(m.addOns), kebab(name)), p.workloads[name].Allows)
	}
	for _, name := range p.bare(m) {
		properties[name] = strict(map[string]any{"enabled": typed("boolean")})
	}
	all := strict(properties)
	all["$schema"] = "http://json-schema.org/draft-07/schema#" // what every Helm 3 and 4 reads
	written, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return "", fmt.Errorf("cannot write the schema of the values: %w", err)
	}
	return string(written) + "\n", nil
}

// workloadSchema returns the schema of the values of a Deployment.
func workloadSchema(optional, allows bool) map[string]any {
	of := map[string]any{"replicas": map[string]any{"type": "integer", "minimum": 0}, "resources": typed("object")}
	if optional {
		of["enabled"] = typed("boolean")
	}
	if allows {
		of["allow"] = map[string]any{"type": "array", "items": typed("string")}
	}
	return strict(of)
}

func typed(name string) map[string]any { return map[string]any{"type": name} }

// strict is the schema of an object that has these properties and no others.
func strict(properties map[string]any) map[string]any {
	return map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
}
