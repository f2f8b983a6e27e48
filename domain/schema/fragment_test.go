package schema

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Whatever a field is called, the library finds it, and is understood.
func TestFragments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.String().Draw(t, "name")
		read, err := url.PathUnescape(escape(name))
		require.NoError(t, err)
		assert.Equal(t, name, read)
		assert.Equal(t, name, unescape(url.PathEscape(name)))
		assert.Equal(t, name, unescape(escape(name)))
	})
	assert.Equal(t, "a%2Fb%E2%82%AC", escape("a/b€"))
}
