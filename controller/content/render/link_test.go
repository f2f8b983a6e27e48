package render_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content/render"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// CONTENT.md X3: a link is refused where it is rendered, and nowhere else.
func TestLinks(t *testing.T) {
	for label, files := range map[string]map[string]string{
		"Plain":     {"deploy/a.yaml": aService},
		"Helm":      {"deploy/Chart.yaml": aChart, "deploy/templates/a.yaml": aService},
		"Kustomize": {"deploy/kustomization.yaml": "resources: [a.yaml]\n", "deploy/a.yaml": aService},
	} {
		t.Run(label, func(t *testing.T) {
			tree := treeOf(t, files)
			require.NoError(t, tree.Add("docs/latest", bundle.File{Link: bundle.SymbolicLink}))
			require.NoError(t, tree.Add("vendored", bundle.File{Link: bundle.Submodule}))
			rendered, err := render.Render(t.Context(), tree, content.Options{Path: "deploy"})
			require.NoError(t, err)
			assert.Equal(t, []string{"Service web"}, idsOf(rendered.Objects))
		})
	}
	tree := treeOf(t, map[string]string{"deploy/a.yaml": aService})
	require.NoError(t, tree.Add("deploy/b.yaml", bundle.File{Link: bundle.SymbolicLink}))
	for _, folder := range []string{"", "deploy", "deploy/b.yaml"} {
		_, err := render.Render(t.Context(), tree, content.Options{Path: folder})
		require.ErrorContains(t, err, `b.yaml": it is a symbolic link: replace it with a file, or set a path that does not need it`, folder)
	}
}
