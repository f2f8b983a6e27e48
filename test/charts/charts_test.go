package charts_test

import (
	"bytes"
	"encoding/json"
	"os"
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
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content/render"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/test/foreign"
)

// pinned is a chart of a module.
type pinned struct {
	foreign.Module

	folder string
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
			Module: foreign.Module{Path: "github.com/cert-manager/cert-manager", Version: "v1.21.2", Sum: "h1:UWgoYM+KLNtRlqmoWOKjKBOBUPVHeepQ6/ac3ERJW68="},
			folder: "deploy/charts/cert-manager", values: "crds: {enabled: true}\nprometheus: {servicemonitor: {enabled: true}}\n",
		},
		"metrics-server": {
			Module: foreign.Module{Path: "sigs.k8s.io/metrics-server", Version: "v0.8.0", Sum: "h1:Zlsi3sBWEtFKCD3+xSysThvXyLQ363rUAlqpnsY5JwI="},
			folder: "charts/metrics-server",
		},
		"external-dns": {
			Module: foreign.Module{Path: "sigs.k8s.io/external-dns", Version: "v0.23.0", Sum: "h1:35KyAZtLN8o5nIE0aPKfyhILbf5HHkKPJby/4FowPJM="},
			folder: "charts/external-dns", values: "policy: sync\n",
		},
		"external-secrets": {
			Module: foreign.Module{Path: "github.com/external-secrets/external-secrets", Version: "v1.3.2", Sum: "h1:u2J8RjlHIeF0oZCqtl92adI/uZWUwOesJIDkfql6LqQ="},
			folder: "deploy/charts/external-secrets", lacks: []string{"bitwarden-sdk-server"},
		},
		"kueue": {
			Module: foreign.Module{Path: "sigs.k8s.io/kueue", Version: "v0.17.0", Sum: "h1:7hzb38M4eKGzYW+CFv2s1L+swzzacUCHOCXxZmAV90I="}, folder: "charts/kueue",
		},
		"kyverno": {
			Module: foreign.Module{Path: "github.com/kyverno/kyverno", Version: "v1.13.4", Sum: "h1:2zUi+eszlisLdCir+WIf2NtuUfFPvJtjUNpewdtLjVw="},
			folder: "charts/kyverno", left: 9,
		},
		"kyverno 1.19": {
			Module: foreign.Module{Path: "github.com/kyverno/kyverno", Version: "v1.19.1", Sum: "h1:/MkgFii3/VlQfKR1JpC9tVwNNVNQTt2S4U6qCsafsTU="},
			folder: "charts/kyverno", lacks: []string{"kyverno-api", "openreports", "reports-server"},
			left: 5,
		},
		"kyverno-policies": {
			Module: foreign.Module{Path: "github.com/kyverno/kyverno", Version: "v1.19.1", Sum: "h1:/MkgFii3/VlQfKR1JpC9tVwNNVNQTt2S4U6qCsafsTU="},
			folder: "charts/kyverno-policies",
		},
		"gatekeeper": {
			Module: foreign.Module{Path: "github.com/open-policy-agent/gatekeeper/v3", Version: "v3.23.1", Sum: "h1:njHTm0SJ6ZEhhEgmQTpJKTGQbc99fSs4hGiEp1OIKck="},
			folder: "charts/gatekeeper", values: "postUpgrade: {labelNamespace: {enabled: true}}\npreUninstall: {deleteWebhookConfigurations: {enabled: true}}\n",
		},
		"ingress-nginx": {
			Module: foreign.Module{Path: "k8s.io/ingress-nginx", Version: "v0.0.0-20240708192948-52c50467d67d", Sum: "h1:tZui5g6S4GO1hxLm6yrEoIXLkl4QfeGytlmZqZ+DmdQ="},
			folder: "charts/ingress-nginx",
		},
		"sealed-secrets": {
			Module: foreign.Module{Path: "github.com/bitnami-labs/sealed-secrets", Version: "v0.27.1", Sum: "h1:oSq/rCGYz0pk7RP4RacIorG/VCWA6c4D8wIEpRkZAUg="},
			folder: "helm/sealed-secrets",
		},
		"trust-manager": {
			Module: foreign.Module{Path: "github.com/cert-manager/trust-manager", Version: "v0.25.0", Sum: "h1:nGtkHH9wEacI5uACdsq8wqCKWsCw1PMrwHPJcrUFUXA="},
			folder: "deploy/charts/trust-manager",
		},
		"node-feature-discovery": {
			Module: foreign.Module{Path: "sigs.k8s.io/node-feature-discovery", Version: "v0.17.3", Sum: "h1:CArk8De9LBP5bj3Z6Bz/mpnC8kDNfBhDAu0xJp4u/A8="},
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
			rendered, err := render.Render(t.Context(), tree, content.Options{
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
func compare(t *testing.T, c pinned, rendered render.Rendered, made release.Release) {
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
		var o bundle.Object
		if require.NoError(t, yaml.Unmarshal([]byte(text), &o)); len(o) == 0 {
			continue // comments alone
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
	folder := c.Unpack(t, c.folder)
	file := filepath.Join(folder, "Chart.yaml")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, c.without(t, text), 0o600))
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
