package arch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content/render"
	shipped "gitlab.ilabt.imec.be/tengu/orcon/deployment"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Orcon's own manifests are a bundle, and mean to orcon render what they mean to kubectl,
// be they in a folder or inside of the program.
func TestOwnManifestsRender(t *testing.T) {
	for _, variant := range shipped.Variants() {
		var want []string
		for _, o := range kustomize(t, repository+"/deployment/"+variant) {
			text, err := bundle.Object(o.Object).Canonical()
			require.NoError(t, err)
			want = append(want, string(text))
		}
		folder, _, err := content.Fetcher{}.Fetch(t.Context(), content.Source{Reference: bundle.Reference{Origin: bundle.Local, Location: repository + "/deployment"}})
		require.NoError(t, err)
		assert.ElementsMatch(t, want, rendered(t, folder, variant), variant) // kubectl sorts them
		assert.ElementsMatch(t, want, builtin(t, variant), "builtin:%s", variant)
	}
}

// builtin renders a variant as orcon does with what it holds.
func builtin(t *testing.T, variant string, settings ...string) []string {
	t.Helper()
	tree, _, err := content.Fetcher{Builtin: shipped.Manifests()}.Fetch(t.Context(), content.Source{Reference: bundle.Reference{Origin: bundle.Builtin, Location: variant}})
	require.NoError(t, err)
	if len(settings) > 0 {
		images, err := shipped.ImagesFrom(settings...)
		require.NoError(t, err)
		tree.Remove(shipped.ImagesFile)
		require.NoError(t, tree.Add(shipped.ImagesFile, bundle.File{Content: images}))
	}
	return rendered(t, tree, variant)
}

func rendered(t *testing.T, tree bundle.Tree, path string) []string {
	t.Helper()
	all, err := render.Render(t.Context(), tree, content.Options{Path: path})
	require.NoError(t, err)
	var texts []string
	for _, o := range all.Objects {
		text, err := o.Canonical()
		require.NoError(t, err)
		texts = append(texts, string(text))
	}
	return texts
}

// The variants are all that there are, and --set reaches each image of theirs, the agent's too.
func TestBuiltinVariantsAndImages(t *testing.T) {
	folders := []string{"network-policies"} // without an image
	files, err := filepath.Glob(repository + "/deployment/*/kustomization.yaml")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.Contains(string(text), "../images") {
			folders = append(folders, filepath.Base(filepath.Dir(file)))
		}
	}
	assert.ElementsMatch(t, folders, shipped.Variants())
	images := map[string]string{"bundle-controller": "bundle-controller", "job-controller": "job-runner", "certmanager": "relation-agent", "selfsigned": "relation-agent"}
	for _, variant := range shipped.Variants() {
		all := strings.Join(builtin(t, variant, "registry=registry.example.org/orcon", "tag=v7"), "\n")
		assert.NotContains(t, all, "localhost/")
		if image := images[variant]; image != "" {
			assert.Contains(t, all, `"registry.example.org/orcon/`+image+`:v7"`)
		}
	}
}
