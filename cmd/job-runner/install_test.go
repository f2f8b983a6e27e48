package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A copy is whole and can be executed, and one that is there is replaced.
func TestInstall(t *testing.T) {
	folder := t.TempDir()
	from, to := filepath.Join(folder, "from"), filepath.Join(folder, "bin", "to")
	require.NoError(t, os.Mkdir(filepath.Dir(to), 0o700))
	require.Error(t, install(from, to))
	for _, content := range []string{"first", "second"} {
		require.NoError(t, os.WriteFile(from, []byte(content), 0o600))
		require.NoError(t, install(from, to))
		got, err := os.ReadFile(to)
		require.NoError(t, err)
		assert.Equal(t, content, string(got))
	}
	info, err := os.Stat(to)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o555), info.Mode().Perm())
	left, err := os.ReadDir(filepath.Dir(to))
	require.NoError(t, err)
	assert.Len(t, left, 1)
}
