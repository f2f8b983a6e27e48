package bundles

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// A field that others shall set is neither drift nor put right, and the rest of the object
// goes on being applied (BUNDLES.md 12).
func TestIgnoredField(t *testing.T) {
	w := newWorld(t)
	process := func() process {
		p := w.process(-1)
		p.world.Ignores = []bundle.Ignore{{APIVersion: "v1", Kind: "ConfigMap", Name: "colour", Paths: []string{"data.colour"}}}
		return p
	}
	p := process()
	require.NoError(t, p.install(p.wish(t, blue+extra)))
	assert.Equal(t, "blue", w.configMaps()["colour"]["colour"], "it is made as its author wrote it")

	w.change("colour", "colour", "red")
	writes := w.writes.Load()
	p = process()
	_, all, err := p.Drift(t.Context())
	require.NoError(t, err)
	assert.Empty(t, all)
	require.NoError(t, p.install(p.wish(t, blue+extra)))
	assert.Equal(t, writes, w.writes.Load(), "there is nothing to put right")

	p = process()
	require.NoError(t, p.install(p.wish(t, strings.Replace(blue, "size: '3'", "size: '4'", 1)+extra)))
	assert.Equal(t, map[string]string{"colour": "red", "size": "4"}, w.configMaps()["colour"])
	w.change("colour", "colour", "green")
	p = process()
	require.NoError(t, p.install(p.wish(t, strings.Replace(blue, "size: '3'", "size: '5'", 1)+extra)))
	assert.Equal(t, map[string]string{"colour": "green", "size": "5"}, w.configMaps()["colour"], "who set it may set it again")
}
