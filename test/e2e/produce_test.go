package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// produce runs a command that writes a file, unless that is up to date with the folders and files that it is made of.
func produce(t *testing.T, file string, of []string, command string, args ...string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	turn, err := os.OpenFile(file+".turn", os.O_CREATE|os.O_RDWR, 0o600)
	require.NoError(t, err)
	defer func() { assert.NoError(t, turn.Close()) }()
	require.NoError(t, syscall.Flock(int(turn.Fd()), syscall.LOCK_EX))
	if current(file, of) {
		return
	}
	produce := exec.CommandContext(t.Context(), filepath.Join(repository(t), command), args...)
	produce.Dir = repository(t)
	out, err := produce.CombinedOutput()
	require.NoError(t, err, string(out))
}

// sinceTestsBegan is what all files are made of that each run of all stages makes once: its beginning.
func sinceTestsBegan() []string { return []string{os.Getenv("ORCON_TESTS_BEGAN")} }

// sourcesOfPackages is what images of packages of others are made of. A run of all stages need not make them again.
func sourcesOfPackages(t *testing.T) []string {
	t.Helper()
	root := repository(t)
	return []string{
		filepath.Join(root, "build"), filepath.Join(root, "deployment", "examples", "jobs"),
		filepath.Join(root, "test", "e2e"), filepath.Join(root, "test", "machine"),
	}
}

// current reports whether a file is younger than all that it is made of.
func current(file string, of []string) bool {
	made, err := os.Stat(file)
	if err != nil {
		return false
	}
	for _, source := range of {
		err = errors.Join(err, filepath.Walk(source, func(path string, info fs.FileInfo, err error) error {
			if err == nil && !made.ModTime().After(info.ModTime()) {
				err = fmt.Errorf("%s is younger", path)
			}
			return err
		}))
	}
	return err == nil
}

// A file is made again when anything that it is made of is younger or missing, and not otherwise.
func TestProducedFilesAreCurrent(t *testing.T) {
	t.Parallel()
	dir, made := t.TempDir(), time.Now().Add(-time.Hour)
	at := func(name string, when time.Time) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		require.NoError(t, os.Chtimes(path, when, when))
		require.NoError(t, os.Chtimes(filepath.Dir(path), made.Add(-time.Hour), made.Add(-time.Hour)))
		return path
	}
	file := at("image.tar", made)
	at("old/source", made.Add(-time.Minute))
	at("new/source", made.Add(time.Minute))
	old, younger := filepath.Join(dir, "old"), filepath.Join(dir, "new")
	assert.True(t, current(file, []string{old}))
	assert.False(t, current(file, []string{old, younger}), "a source is younger")
	assert.False(t, current(file, []string{at("same", made)}), "it may have changed afterwards")
	assert.False(t, current(file, []string{filepath.Join(dir, "gone")}), "a source is missing")
	assert.False(t, current(file, []string{""}), "no run of all stages has begun")
	assert.False(t, current(filepath.Join(dir, "none.tar"), []string{old}), "it is not there")
}
