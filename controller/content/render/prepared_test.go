package render_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content/render"
)

// What was prepared renders as a tree that is rendered alone does, with other values each time.
func TestPrepared(t *testing.T) {
	tree := treeOf(t, map[string]string{
		"charts/web/Chart.yaml":         "apiVersion: v2\nname: web\nversion: 1.0.0\n",
		"charts/web/values.schema.json": `{"type": "object"}`,
		"charts/web/templates/a.yaml":   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\n",
		"plain/a.yaml":                  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
	})
	p, err := render.Prepare(tree, "charts/web", "")
	require.NoError(t, err)
	assert.Equal(t, tree.Digest(), p.Digest())
	assert.JSONEq(t, `{"type": "object"}`, string(p.Schema()))
	for _, name := range []string{"one", "two"} {
		alone, err := render.Render(t.Context(), tree, content.Options{Path: "charts/web", Name: name})
		require.NoError(t, err)
		got, err := p.Render(t.Context(), content.Options{Name: name})
		require.NoError(t, err)
		assert.Equal(t, alone, got)
		assert.Equal(t, name, got.Objects[0].ID().Name)
	}
	p, err = render.Prepare(tree, "plain", "")
	require.NoError(t, err)
	assert.Nil(t, p.Schema(), "manifests are no chart")
	_, err = render.Prepare(tree, "nowhere", "")
	require.Error(t, err)
}
