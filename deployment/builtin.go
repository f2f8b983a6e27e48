// Package deployment holds the manifests that a user applies. They are also inside of orcon, which installs Orcon by
// itself; this file hands them out.
//
// What must not come in: anything but manifests and what says which of them are meant.
package deployment

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
)

// Objects that a user makes beside the manifests, such as a webhook configuration with a certificate of their own,
// are not among these.
//
//go:embed all:fleet-chart
//go:embed bundle-controller certmanager crd images job-controller network-policies orcon-system rbac relations-controller selfsigned
//go:embed relations-mutating-webhook/controller-configmap.yaml relations-mutating-webhook/controller.yaml
//go:embed relations-mutating-webhook/kustomization.yaml relations-mutating-webhook/service.yaml
//go:embed relations-mutating-webhook/webhook-config-templ.yaml
var manifests embed.FS

// Manifests are Orcon's own, as they lie in this folder.
func Manifests() fs.FS { return manifests }

// Variants lists the installable variants, each a folder with a kustomization: Orcon in one of two ways, and beside
// it the controllers of bundles and of runs, and NetworkPolicies.
func Variants() []string {
	return []string{"bundle-controller", "certmanager", "job-controller", "network-policies", "selfsigned"}
}

// Charts returns the folders of the charts among the manifests. They have no image of Orcon.
func Charts() []string { return []string{"fleet-chart"} }

// NetworkPolicies returns the manifest of the NetworkPolicies, which are installed on request only.
func NetworkPolicies() string {
	text, _ := manifests.ReadFile("network-policies/ingress.yaml") // it is embedded
	return string(text)
}

// ImagesFile is the one file of the manifests that says where the images come from.
const ImagesFile = "images/kustomization.yaml"

// registry and tag are where the images of a release come from: build/builder release sets
// them when it links orcon. Without them the images are those of the files.
var registry, tag string //nolint:gochecknoglobals // the linker sets them

// Released reports whether the program is of a release, whose images are used unless other
// settings are given.
func Released() bool { return tag != "" }

// Images are all images of the variants, as ImagesFile names them.
func Images() []string {
	text, _ := manifests.ReadFile(ImagesFile) // it is embedded
	var names []string
	for line := range strings.Lines(string(text)) {
		if name, found := strings.CutPrefix(line, "  - name: "); found {
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names
}

// component is the content of ImagesFile.
type component struct {
	APIVersion     string   `json:"apiVersion"`
	Kind           string   `json:"kind"`
	Images         []image  `json:"images"`
	Configurations []string `json:"configurations"`
}

// image says what is used in place of an image.
type image struct {
	Name    string `json:"name"`
	NewName string `json:"newName,omitempty"`
	NewTag  string `json:"newTag"`
}

// ImagesFrom returns another ImagesFile. settings are registry=HOST/PATH and tag=TAG. With a
// registry only the last part of an image's name stays. The defaults are those of the release,
// else the names in the files and the tag dev.
func ImagesFrom(settings ...string) ([]byte, error) {
	said := map[string]string{"registry": "", "tag": ""}
	for _, setting := range settings {
		name, value, _ := strings.Cut(setting, "=")
		if before, known := said[name]; !known || before != "" || value == "" {
			return nil, fmt.Errorf("cannot use setting %q: Orcon's own manifests have registry=HOST/PATH and tag=TAG, each once", setting)
		}
		said[name] = value
	}
	host := cmp.Or(said["registry"], registry)
	c := component{APIVersion: "kustomize.config.k8s.io/v1alpha1", Kind: "Component", Configurations: []string{"fields.yaml"}}
	for _, name := range Images() {
		i := image{Name: name, NewTag: cmp.Or(said["tag"], tag, "dev")}
		if host != "" {
			i.NewName = strings.TrimSuffix(host, "/") + name[strings.LastIndex(name, "/"):]
		}
		c.Images = append(c.Images, i)
	}
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", ImagesFile, err)
	}
	return text, nil
}
