package kustomize_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kustomize"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

func treeOf(t *testing.T, files map[string]string) *bundle.Tree {
	t.Helper()
	var tree bundle.Tree
	for name, content := range files {
		require.NoError(t, tree.Add(name, bundle.File{Content: []byte(content)}))
	}
	return &tree
}

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"

func TestRender(t *testing.T) {
	tree, err := kustomize.Render(treeOf(t, map[string]string{
		"kustomization.yaml": "namePrefix: x-\nresources: [base/../base]\n", "base/kustomization.yaml": "resources: [a.yaml]\n", "base/a.yaml": configMap,
	}), "")
	require.NoError(t, err)
	f, _ := tree.File("kustomization.yaml")
	assert.Contains(t, string(f.Content), "name: x-a\n")
}

// An overlay finds its base beside it.
func TestRenderFolder(t *testing.T) {
	files := map[string]string{"prod/eu/kustomization.yaml": "nameSuffix: -eu\nresources: [../../base]\n", "base/kustomization.yaml": "resources: [a.yaml]\n", "base/a.yaml": configMap}
	tree, err := kustomize.Render(treeOf(t, files), "prod/eu")
	require.NoError(t, err)
	f, _ := tree.File("kustomization.yaml")
	assert.Contains(t, string(f.Content), "name: a-eu\n")
	_, err = kustomize.Render(treeOf(t, files), "prod")
	require.ErrorContains(t, err, "set the path")
}

// Several at once do not disturb each other: the library has state for all.
func TestRenderTogether(t *testing.T) {
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			_, err := kustomize.Render(treeOf(t, map[string]string{"kustomization.yaml": "resources: [a.yaml]\nopenapi: {path: s.json}\n", "a.yaml": configMap, "s.json": `{"definitions": {}}`}), "")
			assert.NoError(t, err)
		})
	}
	all.Wait()
}

// BUNDLES.md, invariant 1: nothing is fetched while something is rendered, and what
// cannot be built says why.
func TestRenderRefuses(t *testing.T) {
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked = true
		_, _ = w.Write([]byte(configMap))
	}))
	defer server.Close()
	outside := t.TempDir() + "/a.yaml"
	require.NoError(t, os.WriteFile(outside, []byte(configMap), 0o600))
	const elsewhere = "is outside the bundle: copy it into the bundle"
	tests := map[string]struct {
		why, kustomization, want string
	}{
		"URL":          {why: "a file of a web server", kustomization: "resources: [URL/a.yaml]", want: elsewhere},
		"Repository":   {why: "a repository", kustomization: "resources: ['https://example.org/org/repo.git//base?ref=main']", want: elsewhere},
		"GitHub":       {why: "a repository without a scheme", kustomization: "resources: [GitHub.com/org/repo]", want: elsewhere},
		"SSH":          {why: "a repository by SSH", kustomization: "bases: ['git@example.org:org/repo']", want: elsewhere},
		"File":         {why: "a repository of the machine", kustomization: "components: ['file:///org/repo']", want: elsewhere},
		"Patch":        {why: "a patch of a web server", kustomization: "resources: [a.yaml]\npatches: [{path: URL/a.yaml}]", want: elsewhere},
		"Merge":        {why: "another one", kustomization: "resources: [a.yaml]\npatchesStrategicMerge: [URL/a.yaml]", want: elsewhere},
		"Generated":    {why: "a value of a web server", kustomization: "configMapGenerator: [{name: b, files: ['x=URL/a.yaml']}]", want: elsewhere},
		"Environment":  {why: "variables of a web server", kustomization: "secretGenerator: [{name: b, envs: [URL/a.yaml]}]", want: elsewhere},
		"Schema":       {why: "a schema of a web server", kustomization: "openapi: {path: URL/a.yaml}", want: elsewhere},
		"Replacement":  {why: "rules of a web server", kustomization: "replacements: [{path: URL/a.yaml}]", want: elsewhere},
		"Transformer":  {why: "what it loads stands elsewhere", kustomization: "transformers: [a.yaml]", want: "not supported: use the kustomization's own fields"},
		"Chart":        {why: "a program renders it", kustomization: "helmCharts: [{name: a, repo: 'https://example.org'}]", want: "with format helm"},
		"Absolute":     {why: "the machine's own", kustomization: "resources: [" + outside + "]", want: "cannot build"},
		"Upwards":      {why: "out of the tree", kustomization: "resources: [../../../../../../etc/hostname]", want: "cannot build"},
		"Missing":      {why: "not there", kustomization: "resources: [b.yaml]", want: "b.yaml"},
		"UnknownField": {why: "misspelt", kustomization: "resource: [a.yaml]", want: `unknown field "resource"`},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			for _, folder := range []string{"", "base/"} {
				files := map[string]string{folder + "kustomization.yaml": strings.ReplaceAll(tc.kustomization, "URL", server.URL), folder + "a.yaml": configMap}
				if folder != "" {
					files["kustomization.yaml"] = "resources: [base]"
				}
				tree, err := kustomize.Render(treeOf(t, files), "")
				require.ErrorContains(t, err, tc.want, tc.why)
				assert.Empty(t, tree.Paths(), tc.why)
				assert.False(t, asked, "nobody asks a server")
			}
		})
	}
}

// What digests call the renderer is what go.mod builds in.
func TestRenderer(t *testing.T) {
	text, err := os.ReadFile("../../../go.mod")
	require.NoError(t, err)
	assert.Contains(t, string(text), "\tsigs.k8s.io/kustomize/api "+strings.TrimPrefix(kustomize.Renderer, "kustomize ")+"\n")
}
