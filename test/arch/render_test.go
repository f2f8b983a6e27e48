package arch

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Orcon's own manifests are a bundle, and mean to orcon render what they mean to kubectl.
func TestOwnManifestsRender(t *testing.T) {
	tree, _, err := content.Fetcher{}.Fetch(t.Context(), content.Source{Reference: bundle.Reference{Origin: bundle.Local, Location: repository + "/deployment"}})
	require.NoError(t, err)
	for _, variant := range []string{"selfsigned", "certmanager"} {
		rendered, err := content.Render(t.Context(), tree, content.Options{Path: variant})
		require.NoError(t, err)
		var want, got []string
		for _, o := range kustomize(t, repository+"/deployment/"+variant) {
			text, err := bundle.Object(o.Object).Canonical()
			require.NoError(t, err)
			want = append(want, string(text))
		}
		for _, o := range rendered.Objects {
			text, err := o.Canonical()
			require.NoError(t, err)
			got = append(got, string(text))
		}
		assert.ElementsMatch(t, want, got, variant) // kubectl sorts them
	}
}
