package bindings_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/bindings"
)

// An agent that was killed after it has put a new version in force leaves the one before. The next write takes it away,
// also if nothing differs: it holds what was granted no more, and takes up memory (SAFETY.md S1, I20).
func TestKilledBeforeTheOldVersionWasRemoved(t *testing.T) {
	volume := bindings.Volume{Path: t.TempDir()}
	files := map[string]string{"host": "b"}
	require.NoError(t, volume.Write("db", files))
	old := filepath.Join(volume.Path, "db", "..2020_01_01_00_00_00.dead")
	require.NoError(t, os.Mkdir(old, 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(old, "password"), []byte("revoked"), 0o600))

	require.NoError(t, volume.Clean())
	require.NoError(t, volume.Write("db", files))
	assert.Equal(t, files, read(t, filepath.Join(volume.Path, "db")))
	assertNoRubbish(t, volume.Path)
}
