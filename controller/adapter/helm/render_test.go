package helm_test

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/helm"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// chartWith returns a small chart with further files, or others in place of its own.
func chartWith(t *testing.T, files map[string]string) *bundle.Tree {
	t.Helper()
	all := map[string]string{
		"Chart.yaml":        "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
		"values.yaml":       "size: 1\n",
		"templates/a.yaml":  "size: {{ .Values.size }}\n",
		"templates/_x.tpl":  "{{ define \"x\" }}x{{ end }}",
		"templates/z.extra": "release: {{ .Release.Name }} in {{ .Release.Namespace }}\n",
	}
	maps.Copy(all, files)
	var tree bundle.Tree
	for name, content := range all {
		require.NoError(t, tree.Add(name, bundle.File{Content: []byte(content)}))
	}
	return &tree
}

// render renders a chart once.
func render(t *testing.T, tree *bundle.Tree, r helm.Release) (bundle.Tree, []string, error) {
	t.Helper()
	c, err := helm.Load(tree)
	if err != nil {
		return bundle.Tree{}, nil, err
	}
	return c.Render(t.Context(), r)
}

// A rendering leaves the chart as it was: templates change the values that they see, and dependencies are switched off.
func TestRenderManyTimes(t *testing.T) {
	c, err := helm.Load(chartWith(t, map[string]string{
		"Chart.yaml":                 "apiVersion: v2\nname: shop\nversion: 1.0.0\ndependencies:\n- {name: db, version: 1.0.0, condition: db.enabled}\n",
		"charts/db/Chart.yaml":       "apiVersion: v2\nname: db\nversion: 1.0.0\n",
		"charts/db/templates/b.yaml": "db: true\n",
		"values.schema.json":         `{"properties": {"size": {"maximum": 5}}}`,
		"templates/a.yaml":           "{{ $_ := set .Values \"size\" (add .Values.size 1) }}size: {{ .Values.size }}\n",
	}))
	require.NoError(t, err)
	var all sync.WaitGroup
	for size := range 8 {
		all.Go(func() {
			tree, notes, err := c.Render(t.Context(), helm.Release{Values: map[string]any{"size": size, "db": map[string]any{"enabled": size%2 == 0}}})
			if size > 5 {
				assert.ErrorContains(t, err, "size: maximum: want 5")
				return
			}
			assert.NoError(t, err)
			assert.Empty(t, notes)
			a, _ := tree.File("shop/templates/a.yaml")
			assert.Equal(t, fmt.Sprintf("size: %d\n", size+1), string(a.Content))
			_, enabled := tree.File("shop/charts/db/templates/b.yaml")
			assert.Equal(t, size%2 == 0, enabled)
		})
	}
	all.Wait()
}

func TestRender(t *testing.T) {
	tree, notes, err := render(t, chartWith(t, nil), helm.Release{Namespace: "default", Values: map[string]any{"size": "2"}})
	require.NoError(t, err)
	assert.Empty(t, notes)
	require.Equal(t, []string{"shop/templates/a.yaml", "shop/templates/z.extra.yaml"}, tree.Paths(), "every template gives a manifest, whatever it is called")
	a, _ := tree.File("shop/templates/a.yaml")
	assert.Equal(t, "size: 2\n", string(a.Content))
	z, _ := tree.File("shop/templates/z.extra.yaml")
	assert.Equal(t, "release: shop in default\n", string(z.Content))
}

// CONTENT.md X1: a document begins where Helm begins one.
func TestRenderDivides(t *testing.T) {
	tests := map[string]struct{ why, text, want string }{
		"Alone":   {"as YAML has it", "a: 1\n---\nb: 1\n", "a: 1\n---\nb: 1\n"},
		"Field":   {"a template that trims the line end after the separator", "a: 1\n---apiVersion: v1\nb: 1\n", "a: 1\n---\napiVersion: v1\nb: 1\n"},
		"Comment": {"a comment right behind it", "---# Source\na: 1\n", "---\n# Source\na: 1\n"},
		"Spaces":  {"with a field behind spaces", "a: 1\n---  b: 1\nc: 1\n", "a: 1\n---\nb: 1\nc: 1\n"},
		"Windows": {"other line ends", "a: 1\r\n---\r\nb: 1\r\n", "a: 1\r\n---\r\nb: 1\r\n"},
		"Inside":  {"a text that has one", "a: |\n  ---b\nc: ---d\n", "a: |\n  ---b\nc: ---d\n"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			tree, _, err := render(t, chartWith(t, map[string]string{"templates/a.yaml": tc.text}), helm.Release{})
			require.NoError(t, err)
			a, _ := tree.File("shop/templates/a.yaml")
			assert.Equal(t, tc.want, string(a.Content), tc.why)
		})
	}
}

// What differs each time, and what a cluster would decide, is told.
func TestRenderNotes(t *testing.T) {
	tests := map[string]struct {
		why, template, want string
		once                int
	}{
		"Random": {why: "a password made anew for each rendering", template: "password: {{ randAlphaNum 32 }}", want: "shop/templates/a.yaml renders differently each time"},
		"Lookup": {once: 1, why: "what is there decides", template: `there: {{ empty (lookup "v1" "Secret" "shop" "db") }}`, want: "look up objects of the cluster"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			_, notes, err := render(t, chartWith(t, map[string]string{"templates/a.yaml": tc.template}), helm.Release{})
			require.NoError(t, err)
			require.Len(t, notes, 1, tc.why)
			assert.Contains(t, notes[0], tc.want, tc.why)
			_, notes, err = render(t, chartWith(t, map[string]string{"templates/a.yaml": tc.template}), helm.Release{Once: true})
			require.NoError(t, err)
			assert.Len(t, notes, tc.once, "rendered once, nothing can be compared")
		})
	}
}

// BUNDLES.md, invariant 1: what cannot be rendered gives nothing and says why.
func TestRenderRefuses(t *testing.T) {
	const head = "apiVersion: v2\nname: shop\nversion: 1.0.0\n"
	sub := map[string]string{
		"Chart.yaml":                   head + "dependencies: [{name: db, version: 1.0.0}]\n",
		"charts/db/Chart.yaml":         strings.Replace(head, "shop", "db", 1),
		"charts/db/values.schema.json": `{"properties": {"port": {"type": "integer"}}}`,
		"charts/db/values.yaml":        "port: none\n",
	}
	tests := map[string]struct {
		why   string
		files map[string]string
		want  string
	}{
		"Library":     {why: "it is no application", files: map[string]string{"Chart.yaml": head + "type: library\n"}, want: "it is a library"},
		"KubeVersion": {why: "it was made for another Kubernetes", files: map[string]string{"Chart.yaml": head + "kubeVersion: <1.30\n"}, want: `kubeVersion "<1.30" excludes v1.35.0`},
		"Missing":     {why: "nothing is fetched", files: map[string]string{"Chart.yaml": head + "dependencies: [{name: db, version: 1.0.0, repository: 'https://charts.example.org'}]\n"}, want: "lacks db: run helm dependency update"},
		"Metadata":    {why: "no version", files: map[string]string{"Chart.yaml": "apiVersion: v2\nname: shop\n"}, want: "cannot read the chart"},
		"Schema":      {why: "a value of another type", files: map[string]string{"values.schema.json": `{"properties": {"size": {"type": "string"}}}`}, want: "cannot use the values for chart shop: they do not fit its values.schema.json:\n  size: got number, want string"},
		"SubSchema":   {why: "the schema of a chart in the chart", files: sub, want: "cannot use the values for chart db"},
		"Remote":      {why: "a reference out of the chart", files: map[string]string{"values.schema.json": `{"$ref": "https://example.org/schema.json"}`}, want: "a schema may not refer to anything outside the chart"},
		"LocalFile":   {why: "a reference to the machine's files", files: map[string]string{"values.schema.json": `{"$ref": "file:///etc/passwd"}`}, want: "a schema may not refer to anything outside the chart"},
		"NoSchema":    {why: "no JSON", files: map[string]string{"values.schema.json": "{"}, want: "cannot read values.schema.json of chart shop"},
		"Template":    {why: "a template that fails", files: map[string]string{"templates/a.yaml": `{{ required "size is required" .Values.none }}`}, want: "size is required"},
		"Syntax":      {why: "no template", files: map[string]string{"templates/a.yaml": "{{ if"}, want: "templates/a.yaml"},
		"Environment": {why: "what the machine's environment holds", files: map[string]string{"templates/a.yaml": `{{ env "HOME" }}`}, want: `"env" not defined`},
		"Values":      {why: "no map", files: map[string]string{"values.yaml": "- a\n"}, want: "values.yaml"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			tree, _, err := render(t, chartWith(t, tc.files), helm.Release{})
			require.ErrorContains(t, err, tc.want, tc.why)
			assert.Empty(t, tree.Paths(), tc.why)
		})
	}
	_, _, err := render(t, &bundle.Tree{}, helm.Release{})
	require.ErrorContains(t, err, "cannot find Chart.yaml")
}

func TestValues(t *testing.T) {
	files := []helm.ValuesFile{{Name: "base.yaml", Text: []byte("a: {b: 1, c: 2}\nl: [1, 2]\n")}, {Name: "over.yaml", Text: []byte("a: {b: 3}\nl: [4]\n")}}
	got, err := helm.Values(files, []string{"a.d=x", "l[0]=5"})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"a": map[string]any{"b": float64(3), "c": float64(2), "d": "x"}, "l": []any{int64(5)}}, got)

	_, err = helm.Values([]helm.ValuesFile{{Name: "base.yaml"}, {Name: "bad.yaml", Text: []byte("a: [")}}, nil)
	require.ErrorContains(t, err, "cannot read the values of bad.yaml: ")
	_, err = helm.Values([]helm.ValuesFile{{Name: "list.yaml", Text: []byte("- a\n")}}, nil)
	require.EqualError(t, err, "cannot read the values of list.yaml: it is not a map of values: write name: value")
	_, err = helm.Values(nil, []string{"a"})
	require.ErrorContains(t, err, `"a"`)
}

// What digests call the renderer is what go.mod builds in.
func TestRenderer(t *testing.T) {
	text, err := os.ReadFile("../../../go.mod")
	require.NoError(t, err)
	assert.Contains(t, string(text), "\thelm.sh/helm/v4 "+strings.TrimPrefix(helm.Renderer, "helm ")+"\n")
}
