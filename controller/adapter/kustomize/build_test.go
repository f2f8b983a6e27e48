package kustomize_test

import (
	"fmt"
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

// CONTENT.md X3: what no kustomization refers to, from the folder on, is no reason to refuse.
func TestRenderWhatIsReached(t *testing.T) {
	files := map[string]string{
		"prod/kustomization.yaml":   "resources: [../base, own.yaml]\nconfigMapGenerator: [{name: g, files: [key=text], envs: [env]}]\npatches: [{path: p.yaml}]\n",
		"prod/own.yaml":             strings.Replace(configMap, "name: a", "name: own", 1),
		"prod/text":                 "&a [*a]",
		"prod/env":                  "X=1\n",
		"prod/p.yaml":               configMap + "data: {patched: yes}\n",
		"base/kustomization.yml":    "resources: [a.yaml]\n",
		"base/a.yaml":               configMap,
		"other/kustomization.yaml":  "resources: ['https://example.org/base']\n",
		"broken/kustomization.yaml": "resource: [a.yaml]\n",
		"plugin/Kustomization":      "transformers: [x.yaml]\n",
	}
	tree := treeOf(t, files)
	require.NoError(t, tree.Add("docs", bundle.File{Link: bundle.SymbolicLink}))
	require.NoError(t, tree.Add("base/modules", bundle.File{Link: bundle.Submodule}))
	built, err := kustomize.Render(tree, "prod")
	require.NoError(t, err)
	f, _ := built.File("kustomization.yaml")
	for _, want := range []string{"name: own\n", "patched:", "X: \"1\"", "key: '&a [*a]'"} {
		assert.Contains(t, string(f.Content), want)
	}
}

// CONTENT.md X3: a link that is used is refused with its place and the cure.
func TestRenderRefusesLinks(t *testing.T) {
	for kustomization, want := range map[string]string{
		"resources: [../docs/base]":                           `cannot use prod/kustomization.yaml: cannot use "docs": it is a symbolic link: replace it with a file`,
		"components: [../vendored]":                           `cannot use "vendored": it is a submodule: add its repository as a source of its own`,
		"configMapGenerator: [{name: g, files: [k=../docs]}]": `cannot use "docs"`,
	} {
		tree := treeOf(t, map[string]string{"prod/kustomization.yaml": kustomization})
		require.NoError(t, tree.Add("docs", bundle.File{Link: bundle.SymbolicLink}))
		require.NoError(t, tree.Add("vendored", bundle.File{Link: bundle.Submodule}))
		_, err := kustomize.Render(tree, "prod")
		require.ErrorContains(t, err, want)
	}
	tree := treeOf(t, map[string]string{"a.yaml": configMap})
	require.NoError(t, tree.Add("kustomization.yaml", bundle.File{Link: bundle.SymbolicLink}))
	_, err := kustomize.Render(tree, "")
	require.ErrorContains(t, err, `cannot use "kustomization.yaml": it is a symbolic link`)
}

// CONTENT.md X5: aliases that expand to too much are refused before the library sees them, at once and with the line.
func TestRenderBoundsAliases(t *testing.T) {
	laughs := configMap + "data:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 9; i++ {
		laughs += fmt.Sprintf("  a%d: &a%[1]d [*a%d, *a%[2]d, *a%[2]d, *a%[2]d, *a%[2]d, *a%[2]d, *a%[2]d, *a%[2]d]\n", i, i-1)
	}
	many := configMap + "data:\n  a: &a [" + strings.Repeat("x, ", 1000) + "]\n  b: [" + strings.Repeat("*a, ", 300) + "]\n"
	tests := map[string]struct{ why, kustomization, file, want string }{
		"Resource":      {"an object", "resources: [a.yaml]", laughs, "cannot use a.yaml: line 12: its aliases expand to more than 400000 values"},
		"Patch":         {"what changes one", "patches: [{path: a.yaml}]", laughs, "its aliases expand"},
		"Kustomization": {"the file itself", laughs, "", "cannot use kustomization.yaml: line 12: its aliases expand"},
		"Second":        {"a later document", "resources: [a.yaml]", configMap + "---\n" + laughs, "line 16: its aliases expand"},
		"Together":      {"documents that are bounded alone", "resources: [a.yaml]", many + "---\n" + many, "its aliases expand"},
		"Itself":        {"no end", "resources: [a.yaml]", configMap + "data: &d {x: *d}\n", `cannot use a.yaml: line 4: anchor "d" contains itself`},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			_, err := kustomize.Render(treeOf(t, map[string]string{"kustomization.yaml": tc.kustomization, "a.yaml": tc.file}), "")
			require.ErrorContains(t, err, tc.want, tc.why)
		})
	}
	inline := "    " + strings.ReplaceAll(strings.TrimSpace(many), "\n", "\n    ") + "\n    ---\n    " + strings.ReplaceAll(strings.TrimSpace(many), "\n", "\n    ") + "\n"
	for label, kustomization := range map[string]string{
		"Patches": "patches:\n- patch: |\n" + inline, "Merge": "patchesStrategicMerge:\n- |\n" + inline, "JSON": "patchesJson6902:\n- target: {version: v1, kind: ConfigMap, name: a}\n  patch: |\n" + inline,
	} {
		_, err := kustomize.Render(treeOf(t, map[string]string{"kustomization.yaml": "resources: [a.yaml]\n" + kustomization, "a.yaml": configMap}), "")
		require.ErrorContains(t, err, "its aliases expand to more than", label)
	}
	built, err := kustomize.Render(treeOf(t, map[string]string{"kustomization.yaml": "resources: [a.yaml]", "a.yaml": configMap + "data: &d {x: &v '*', y: *v}\n"}), "")
	require.NoError(t, err, "a few are good")
	f, _ := built.File("kustomization.yaml")
	assert.Contains(t, string(f.Content), "\"y\": '*'")
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
