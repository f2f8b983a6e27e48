package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content/render"
	"gitlab.ilabt.imec.be/tengu/orcon/deployment"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// options are the differences of a chart from the one of another release.
type options struct {
	version, tag, registry string
}

// chart returns the files of the chart by their paths.
func chart(ctx context.Context, o options) (map[string]string, error) {
	m, err := renderAll(ctx)
	if err != nil {
		return nil, err
	}
	files := map[string]string{
		"Chart.yaml":             o.metadata(),
		".helmignore":            "",
		"templates/_helpers.tpl": helpers,
		"templates/NOTES.txt":    notes,
	}
	p := &places{images: map[string]bool{}, workloads: map[string]workload{}}
	if files["templates/orcon.yaml"], err = p.variants(m.variants); err != nil {
		return nil, err
	}
	for _, addOn := range m.addOns {
		if files["templates/"+addOn.name+".yaml"], err = p.addOn(addOn); err != nil {
			return nil, err
		}
	}
	if files["values.yaml"], err = p.values(o, m); err != nil {
		return nil, err
	}
	files["values.schema.json"], err = p.schema(m)
	return files, err
}

// variant is a folder of deployment/ with all that it renders to.
type variant struct {
	name    string
	objects []bundle.Object
}

// manifests holds the variants of Orcon, one for each cluster, and the optional add-ons.
type manifests struct {
	variants, addOns []variant
}

// renderAll renders all variants. One that has the namespace is Orcon itself; others are
// installed beside it.
func renderAll(ctx context.Context) (manifests, error) {
	var m manifests
	for _, name := range deployment.Variants() {
		source := content.Source{Reference: bundle.Reference{Origin: bundle.Builtin, Location: name}}
		tree, _, err := content.Fetcher{Builtin: deployment.Manifests()}.Fetch(ctx, source)
		if err != nil {
			return m, fmt.Errorf("cannot read the manifests: %w", err)
		}
		rendered, err := render.Render(ctx, tree, content.Options{Path: name})
		if err != nil {
			return m, fmt.Errorf("cannot render deployment/%s: %w", name, err)
		}
		v := variant{name: name, objects: rendered.Objects}
		if slices.ContainsFunc(v.objects, func(o bundle.Object) bool { return o.ID().Kind == "Namespace" }) {
			m.variants = append(m.variants, v)
		} else {
			m.addOns = append(m.addOns, v)
		}
	}
	return m, nil
}

// variants returns the template of the objects of Orcon itself. An object that is the same in
// all variants is in it once, another one for each variant that has it.
func (p *places) variants(all []variant) (string, error) {
	var b strings.Builder
	for _, id := range ids(all) {
		texts := map[string][]string{} // the variants that have the object so
		var order []string
		for _, v := range all {
			i := slices.IndexFunc(v.objects, func(o bundle.Object) bool { return o.ID() == id })
			if i < 0 {
				continue
			}
			text, err := p.template(v.objects[i])
			if err != nil {
				return "", err
			}
			if texts[text] == nil {
				order = append(order, text)
			}
			texts[text] = append(texts[text], fmt.Sprintf("%q", v.name))
		}
		for _, text := range order {
			b.WriteString(onlyFor(texts[text], len(all), text))
		}
	}
	return b.String(), nil
}

// onlyFor returns a template that renders where certificates is one of some variants.
func onlyFor(variants []string, all int, text string) string {
	if len(variants) == all {
		return text
	}
	return fmt.Sprintf("{{- if has .Values.certificates (list %s) }}\n%s{{- end }}\n", strings.Join(variants, " "), text)
}

// ids lists the objects of all variants once, in their order.
func ids(all []variant) []bundle.ID {
	var ids []bundle.ID
	for _, v := range all {
		for _, o := range v.objects {
			if !slices.Contains(ids, o.ID()) {
				ids = append(ids, o.ID())
			}
		}
	}
	return ids
}

// addOn returns the template of an add-on, which is installed if its value "enabled" is true.
func (p *places) addOn(v variant) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "{{- if .Values.%s.enabled }}\n", key(v.name))
	for _, o := range v.objects {
		text, err := p.template(o)
		if err != nil {
			return "", err
		}
		b.WriteString(text)
	}
	b.WriteString("{{- end }}\n")
	return b.String(), nil
}

// key is a name as a value's name: relations-controller is relationsController.
func key(name string) string {
	words := strings.Split(name, "-")
	for i, word := range words[1:] {
		words[i+1] = strings.ToUpper(word[:1]) + word[1:]
	}
	return strings.Join(words, "")
}

// metadata returns Chart.yaml. The oldest Kubernetes is the one that orcon renders for.
func (o options) metadata() string {
	return fmt.Sprintf(`apiVersion: v2
name: orcon
description: Relations between plain Kubernetes workloads, as in Juju
type: application
version: %s
appVersion: %q
kubeVersion: ">=1.35.0-0"
home: https://gitlab.ilabt.imec.be/tengu/orcon
sources: [https://gitlab.ilabt.imec.be/tengu/orcon]
annotations:
  artifacthub.io/license: Apache-2.0
`, o.version, o.tag)
}

const helpers = `{{/* The reference of an image: the one of .Values.images, or registry/name:tag. */}}
{{- define "orcon.image" -}}
{{- $tag := .root.Values.tag | default .root.Chart.AppVersion -}}
{{- get .root.Values.images .name | default (printf "%s/%s:%s" (.root.Values.registry | trimSuffix "/") .name $tag) -}}
{{- end -}}
`

const notes = `Orcon {{ .Chart.AppVersion }} is installed in namespace {{ .Release.Namespace }}.

Opt a namespace in:

  kubectl label namespace NAME tengu-injector=enabled

Check the installation:

  orcon check
`
