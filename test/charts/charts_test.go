package charts_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	release "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/release/v1/util"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/directory"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/helm"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// pinned is a chart of a module.
type pinned struct {
	module, version, sum, folder string
	// values are those that the chart requires, or that have it render more; lacks are dependencies that its repository
	// does not hold.
	values string
	lacks  []string
	// left is how many hooks are left out, since nothing runs on their events here.
	left int
}

// charts returns the charts that are compared.
func charts() map[string]pinned {
	return map[string]pinned{
		"cert-manager": {
			module: "github.com/cert-manager/cert-manager", version: "v1.21.2", sum: "h1:UWgoYM+KLNtRlqmoWOKjKBOBUPVHeepQ6/ac3ERJW68=",
			folder: "deploy/charts/cert-manager", values: "crds: {enabled: true}\nprometheus: {servicemonitor: {enabled: true}}\n",
		},
		"metrics-server": {
			module: "sigs.k8s.io/metrics-server", version: "v0.8.0", sum: "h1:Zlsi3sBWEtFKCD3+xSysThvXyLQ363rUAlqpnsY5JwI=",
			folder: "charts/metrics-server",
		},
		"external-dns": {
			module: "sigs.k8s.io/external-dns", version: "v0.23.0", sum: "h1:35KyAZtLN8o5nIE0aPKfyhILbf5HHkKPJby/4FowPJM=",
			folder: "charts/external-dns", values: "policy: sync\n",
		},
		"external-secrets": {
			module: "github.com/external-secrets/external-secrets", version: "v1.3.2", sum: "h1:u2J8RjlHIeF0oZCqtl92adI/uZWUwOesJIDkfql6LqQ=",
			folder: "deploy/charts/external-secrets", lacks: []string{"bitwarden-sdk-server"},
		},
		"kueue": {
			module: "sigs.k8s.io/kueue", version: "v0.17.0", sum: "h1:7hzb38M4eKGzYW+CFv2s1L+swzzacUCHOCXxZmAV90I=", folder: "charts/kueue",
		},
		"kyverno": {
			module: "github.com/kyverno/kyverno", version: "v1.13.4", sum: "h1:2zUi+eszlisLdCir+WIf2NtuUfFPvJtjUNpewdtLjVw=",
			folder: "charts/kyverno", left: 9,
		},
		"kyverno 1.19": {
			module: "github.com/kyverno/kyverno", version: "v1.19.1", sum: "h1:/MkgFii3/VlQfKR1JpC9tVwNNVNQTt2S4U6qCsafsTU=",
			folder: "charts/kyverno", lacks: []string{"kyverno-api", "openreports", "reports-server"},
			left: 5,
		},
		"kyverno-policies": {
			module: "github.com/kyverno/kyverno", version: "v1.19.1", sum: "h1:/MkgFii3/VlQfKR1JpC9tVwNNVNQTt2S4U6qCsafsTU=",
			folder: "charts/kyverno-policies",
		},
		"node-feature-discovery": {
			module: "sigs.k8s.io/node-feature-discovery", version: "v0.17.3", sum: "h1:CArk8De9LBP5bj3Z6Bz/mpnC8kDNfBhDAu0xJp4u/A8=",
			folder: "deployment/helm/node-feature-discovery", left: 4,
		},
	}
}

// CONTENT.md X1 and X2: charts as their authors ship them render to the objects that Helm itself installs. Hooks have
// another time, and no other field.
func TestCharts(t *testing.T) {
	for label, c := range charts() {
		t.Run(label, func(t *testing.T) {
			folder := c.unpack(t)
			tree, err := directory.Read(folder)
			require.NoError(t, err)
			rendered, err := content.Render(t.Context(), tree, content.Options{
				Name: "mine", Namespace: "place", Format: "helm", Values: []content.ValuesFile{{Name: "values", Text: []byte(c.values)}},
			})
			require.NoError(t, err)
			var made release.Release
			c.install(t, folder, &made)
			compare(t, c, rendered, made)
		})
	}
}

// The measure is the version of Helm that Orcon renders with.
func TestVersion(t *testing.T) {
	text, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	assert.Contains(t, string(text), "\thelm.sh/helm/v4 "+strings.TrimPrefix(helm.Renderer, "helm ")+"\n")
}

// compare compares the objects of a chart with those of Helm's release.
func compare(t *testing.T, c pinned, rendered content.Rendered, made release.Release) {
	t.Helper()
	ours := map[string]any{}
	for _, o := range rendered.Objects {
		ours[o.ID().String()] = plain(t, o)
	}
	left := 0
	same := func(text string, events []string) {
		var o bundle.Object
		require.NoError(t, yaml.Unmarshal([]byte(text), &o))
		name := o.ID().String()
		own, found := ours[name]
		delete(ours, name)
		if !found && slices.ContainsFunc(rendered.Notes, func(note string) bool {
			return strings.HasPrefix(note, name+" is a ") && strings.HasSuffix(note, "left out")
		}) {
			left++
			assert.Subset(t, []string{"test", "post-delete", "pre-rollback", "post-rollback"}, events, name)
			return
		}
		assert.Equal(t, plain(t, o), own, name)
	}
	count := 0
	for _, text := range util.SplitManifests(made.Manifest) {
		if strings.TrimSpace(strings.TrimPrefix(text, strings.SplitN(text, "\n", 2)[0])) == "" {
			continue // a comment alone
		}
		same(text, nil)
		count++
	}
	for _, hook := range made.Hooks {
		var events []string
		for _, e := range hook.Events {
			events = append(events, string(e))
		}
		same(hook.Manifest, events)
	}
	assert.Empty(t, ours, "no more than Helm has")
	assert.Equal(t, c.left, left)
	t.Logf("%d objects and %d hooks, of which %d are left out", count, len(made.Hooks), left)
}

// plain returns an object without the annotations of hooks, neither Helm's nor Orcon's.
func plain(t *testing.T, o bundle.Object) any {
	t.Helper()
	text, err := json.Marshal(o)
	require.NoError(t, err)
	var same map[string]any
	require.NoError(t, json.Unmarshal(text, &same))
	metadata, _ := same["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	for key := range annotations {
		if strings.HasPrefix(key, "helm.sh/hook") || strings.HasPrefix(key, "orcon.tengu.io/") {
			delete(annotations, key)
		}
	}
	if len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	return same
}

// install returns Helm's release of a chart, without a cluster.
func (c pinned) install(t *testing.T, folder string, into *release.Release) {
	t.Helper()
	loaded, err := loader.Load(folder)
	require.NoError(t, err)
	version, err := common.ParseKubeVersion("v1.35.0")
	require.NoError(t, err)
	install := action.NewInstall(action.NewConfiguration())
	install.DryRunStrategy, install.ReleaseName, install.Namespace = action.DryRunClient, "mine", "place"
	install.IncludeCRDs, install.KubeVersion = true, version
	var values map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(c.values), &values))
	made, err := install.RunWithContext(t.Context(), loaded, values)
	require.NoError(t, err)
	r, ok := made.(*release.Release)
	require.True(t, ok)
	*into = *r //nolint:govet // nothing locks it any more
}

// unpack writes a chart of the module's archive into a folder, without the dependencies that it lacks.
func (c pinned) unpack(t *testing.T) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", c.module+"@"+c.version)
	command.Dir = t.TempDir()   // outside of any module
	text, _ := command.Output() // a module for a newer Go is an error, and there all the same
	var found struct{ Zip, Sum, Error string }
	require.NoError(t, json.Unmarshal(text, &found))
	require.Equal(t, c.sum, found.Sum, found.Error)
	archive, err := zip.OpenReader(found.Zip)
	require.NoError(t, err)
	defer archive.Close() //nolint:errcheck // it is only read
	folder := t.TempDir()
	for _, f := range archive.File {
		name, below := strings.CutPrefix(f.Name, c.module+"@"+c.version+"/"+c.folder+"/")
		if !below {
			continue
		}
		in, err := f.Open()
		require.NoError(t, err)
		text, err := io.ReadAll(in)
		require.NoError(t, err)
		if name == "Chart.yaml" {
			text = c.without(t, text)
		}
		at := filepath.Join(folder, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		require.NoError(t, os.WriteFile(at, text, 0o644))
	}
	return folder
}

// without returns a Chart.yaml without the dependencies that its repository does not hold.
func (c pinned) without(t *testing.T, text []byte) []byte {
	t.Helper()
	if len(c.lacks) == 0 {
		return bytes.Clone(text)
	}
	var metadata chart.Metadata
	require.NoError(t, yaml.Unmarshal(text, &metadata))
	before := len(metadata.Dependencies)
	metadata.Dependencies = slices.DeleteFunc(metadata.Dependencies, func(d *chart.Dependency) bool { return slices.Contains(c.lacks, d.Name) })
	require.Equal(t, before-len(c.lacks), len(metadata.Dependencies))
	text, err := yaml.Marshal(metadata)
	require.NoError(t, err)
	return text
}
