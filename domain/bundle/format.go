package bundle

import (
	"fmt"
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
)

// ParseFormat reads a format's name; "" is the one that the tree looks like.
func ParseFormat(text string, t *Tree) (Format, error) {
	switch f := Format(text); f {
	case "":
		return detect(t), nil
	case Plain, Helm, RegistryV1, Kustomize:
		return f, nil
	default:
		return "", fmt.Errorf("cannot use format %q: it is one of %s, %s, %s, %s", text, Plain, Helm, RegistryV1, Kustomize)
	}
}

// Kustomizations are the names that the file of a kustomization may have.
//
//nolint:gochecknoglobals // a table
var Kustomizations = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// detect tells a format by the file that each has at its top.
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
