package directory_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/directory"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

func TestRead(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "a/.git"), 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "a/.git/config"), []byte("no"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "a/b.yaml"), []byte("x"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "run"), []byte("y"), 0o700))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(folder, "a/link.yaml")))
	tree, err := directory.Read(folder)
	require.NoError(t, err)
	assert.Equal(t, []string{"a/b.yaml", "run"}, tree.Paths())
	require.EqualError(t, tree.Unlinked(), `cannot use "a/link.yaml": it is a symbolic link: replace it with a file, or set a path that does not need it`)
	run, _ := tree.File("run")
	assert.Equal(t, bundle.File{Content: []byte("y"), Executable: true}, run)

	is, err := directory.IsFolder(folder)
	require.NoError(t, err)
	assert.True(t, is)
	content, err := directory.File(filepath.Join(folder, "a/b.yaml"))
	require.NoError(t, err)
	assert.Equal(t, "x", string(content))
}

// BUNDLES.md, invariant 1.
func TestReadRefuses(t *testing.T) {
	tests := map[string]struct {
		why  string
		make func(at string) error
		want string
	}{
		"Pipe":   {why: "it may hang for ever", make: func(at string) error { return syscall.Mkfifo(at, 0o600) }, want: "a pipe or a socket"},
		"Device": {why: "it may never end", make: func(at string) error { return syscall.Mknod(at, syscall.S_IFCHR|0o600, 1<<8|5) }, want: "a device"},
		"Large":  {why: "it fills the memory", make: func(at string) error { return sparse(at, bundle.MaxBytes+1) }, want: "too large"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			folder := t.TempDir()
			require.NoError(t, tc.make(filepath.Join(folder, "x.yaml")))
			tree, err := directory.Read(folder)
			require.ErrorContains(t, err, tc.want, tc.why)
			assert.Empty(t, tree.Paths(), tc.why)
		})
	}
	_, err := directory.Read("nothing")
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = directory.IsFolder("nothing")
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = directory.File("nothing")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// sparse makes a file of a size that takes no room.
func sparse(at string, size int64) error {
	if err := os.WriteFile(at, nil, 0o600); err != nil {
		return err
	}
	return os.Truncate(at, size)
}
