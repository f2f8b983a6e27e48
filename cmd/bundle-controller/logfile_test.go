package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Logs are written to the end of the file, which another container follows, and to standard error (FLEET.md O6).
func TestLogFile(t *testing.T) {
	before := os.Stderr
	defer func() { os.Stderr = before }()
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	require.NoError(t, err)
	os.Stderr = stderr
	path := filepath.Join(t.TempDir(), "integration.log")
	require.NoError(t, os.WriteFile(path, []byte("of the last process\n"), 0o600))
	end, err := logTo(path)
	require.NoError(t, err)
	fmt.Fprintln(os.Stderr, "one")
	end()
	fmt.Fprintln(os.Stderr, "two")
	assert.Equal(t, "of the last process\none\n", read(t, path))
	assert.Equal(t, "one\ntwo\n", read(t, stderr.Name()))

	_, err = logTo(filepath.Join(t.TempDir(), "none", "integration.log"))
	require.ErrorContains(t, err, "mount a volume that can be written there, or name another by -logFile or LOG_FILE")
}

// A full disk ends no log.
func TestFullLogFile(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	require.NoError(t, err)
	b := &both{file: full, stderr: stderr}
	for _, line := range []string{"one\n", "two\n"} {
		n, err := b.Write([]byte(line))
		require.NoError(t, err)
		assert.Equal(t, len(line), n)
	}
	assert.Equal(t, "one\nbundle-controller: cannot write logs to /dev/full: write /dev/full: no space left on device: they go on here\ntwo\n",
		read(t, stderr.Name()))
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}
