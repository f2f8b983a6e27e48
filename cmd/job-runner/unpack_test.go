package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// JOBS-DESIGN.md 14: the content of an image can be written, keeps its links and what can be executed, and its users gain
// the one of the run.
func TestUnpack(t *testing.T) {
	root, to := t.TempDir(), t.TempDir()
	require.NoError(t, unpack(root, to), "an image of one program")
	assert.DirExists(t, filepath.Join(to, "work"))

	work := filepath.Join(root, "work")
	require.NoError(t, os.MkdirAll(filepath.Join(work, "modules"), 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(work, "modules", "main.tf"), []byte("# a"), 0o400))
	require.NoError(t, os.WriteFile(filepath.Join(work, "run.sh"), []byte("# b"), 0o500))
	require.NoError(t, os.Symlink("modules/main.tf", filepath.Join(work, "link.tf")))
	require.NoError(t, os.Mkdir(filepath.Join(root, "etc"), 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(root, "etc", "passwd"), []byte("root:x:0:0::/:/bin/sh\n"), 0o600))
	for range 2 {
		require.NoError(t, unpack(root, to), "also after an attempt that was cut off")
	}
	for name, want := range map[string]os.FileMode{"modules/main.tf": 0o600, "run.sh": 0o700} {
		info, err := os.Stat(filepath.Join(to, "work", name))
		require.NoError(t, err)
		assert.Equal(t, want, info.Mode().Perm()&0o700, name)
	}
	link, err := os.Readlink(filepath.Join(to, "work", "link.tf"))
	require.NoError(t, err)
	assert.Equal(t, "modules/main.tf", link)
	users, err := os.ReadFile(filepath.Join(to, "passwd"))
	require.NoError(t, err)
	assert.Equal(t, "orcon:x:65532:65532::/home/orcon:/bin/sh\nroot:x:0:0::/:/bin/sh\n", string(users))
	groups, err := os.ReadFile(filepath.Join(to, "group"))
	require.NoError(t, err)
	assert.Equal(t, "orcon:x:65532:\n", string(groups))

	require.NoError(t, syscall.Mkfifo(filepath.Join(work, "pipe"), 0o600))
	require.ErrorContains(t, unpack(root, to), "pipe")
	code, err := runUnpack([]string{filepath.Join(to, "passwd", "none")})
	assert.NotZero(t, code)
	require.ErrorContains(t, err, "cannot unpack the image of the template: ")
	_, err = runUnpack(nil)
	require.ErrorContains(t, err, "unpack needs one FOLDER")
}
