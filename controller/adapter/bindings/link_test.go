package bindings_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/bindings"
)

// Whatever a container should manage to put in the agent's place, the agent follows
// no link: it opens no gate by one, and changes and reads nothing elsewhere
// (SAFETY.md I28).
func TestNoLinkIsFollowed(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other")
	require.NoError(t, os.WriteFile(other, []byte("secret"), 0o600))
	at := filepath.Join(dir, "file")
	for _, link := range []string{at, at + ".new", at + ".0", at + ".1"} {
		require.NoError(t, os.Symlink(other, link))
	}
	file, pair := bindings.File{Path: at}, bindings.NewPair(at)
	assert.False(t, file.Exists(), "no gate is open by it")
	_, err := file.Read()
	require.Error(t, err)
	_, err = pair.Read()
	require.Error(t, err)
	require.Error(t, pair.Replace([]byte("mine")))
	require.NoError(t, file.Replace([]byte("mine")), "it takes the link's place")
	content, err := file.Read()
	require.NoError(t, err)
	assert.Equal(t, "mine", string(content))
	held, err := os.ReadFile(other)
	require.NoError(t, err)
	assert.Equal(t, "secret", string(held))
}
