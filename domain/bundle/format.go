package bundle

import (
	"fmt"
	"slices"
	"strings"
)

// Format says how a tree becomes objects.
type Format string

// The formats.
const (
	// Plain is manifests as they are, in YAML or JSON, in any folder.
	Plain Format = "plain"
	// Helm is a chart.
	Helm Format = "helm"
	// RegistryV1 is a bundle of an operator catalogue.
	RegistryV1 Format = "registry-v1"
	// Kustomize is a folder with a kustomization.
	Kustomize Format = "kustomize"
	// OpenShiftTemplate is a Template of OpenShift, or a chart that renders to one.
	OpenShiftTemplate Format = "openshift-template"
)

// formats lists the formats.
//
//nolint:gochecknoglobals // a table
var formats = []Format{Plain, Helm, RegistryV1, Kustomize, OpenShiftTemplate}

// ParseFormat reads a format's name; "" is the one that the tree looks like.
func ParseFormat(text string, t *Tree) (Format, error) {
	switch f := Format(text); {
	case f == "":
		return detect(t), nil
	case slices.Contains(formats, f):
		return f, nil
	}
	var names []string
	for _, f := range formats {
		names = append(names, string(f))
	}
	return "", fmt.Errorf("cannot use format %q: it is one of %s", text, strings.Join(names, ", "))
}

// Kustomizations are the names that the file of a kustomization may have.
//
//nolint:gochecknoglobals // a table
var Kustomizations = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// detect tells a format by the file that each has at its top. An OpenShiftTemplate has none: it looks like Plain,
// or Helm.
func detect(t *Tree) Format {
	if _, ok := ChartFolder(t); ok {
		return Helm
	}
	for _, name := range Kustomizations {
		if _, ok := t.files[name]; ok {
			return Kustomize
		}
	}
	if _, ok := t.files["metadata/annotations.yaml"]; ok && t.folders["manifests"] {
		return RegistryV1
	}
	return Plain
}

// ChartFolder returns the folder of a tree that is a chart: the top, or the only folder
// there, as in packed charts.
func ChartFolder(t *Tree) (string, bool) {
	if _, ok := t.files["Chart.yaml"]; ok {
		return "", true
	}
	only := ""
	for name := range t.files {
		folder, _, below := strings.Cut(name, "/")
		if !below || only != "" && only != folder {
			return "", false
		}
		only = folder
	}
	_, ok := t.files[only+"/Chart.yaml"]
	return only, ok
}
