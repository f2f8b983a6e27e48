package sandbox_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/sandbox"
)

// TestOpen makes the folder, and removes what children have left in it and nothing else.
func TestOpen(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a", "b")
	_, err := sandbox.Open(folder)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "child-1", "deep"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "other"), nil, 0o600))
	_, err = sandbox.Open(folder)
	require.NoError(t, err)
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	assert.Equal(t, "other", entries[0].Name())
	_, err = sandbox.Open(filepath.Join(folder, "other"))
	require.ErrorContains(t, err, "cannot make the folder of child processes")
}

// TestTrouble has something fail that is no content's fault: the error is not about a limit.
func TestTrouble(t *testing.T) {
	broken := errors.New("broken")
	tests := map[string]struct {
		why  string
		in   io.Reader
		out  io.Writer
		want string
	}{
		"Input":   {"what is written to the child cannot be read", io.MultiReader(strings.NewReader("environment\n"), iotest.ErrReader(broken)), io.Discard, "broken"},
		"Output":  {"what the child writes cannot be stored", strings.NewReader("output 500000\nhang\n"), failing{broken}, "ended without an answer"},
		"Nothing": {"the child has nothing to do", strings.NewReader(""), io.Discard, "ended without an answer"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			box, err := sandbox.Open(t.TempDir())
			require.NoError(t, err)
			err = box.Run(t.Context(), usual(), tc.in, tc.out)
			require.ErrorContains(t, err, tc.want, tc.why)
			_, reached := errors.AsType[*sandbox.LimitError](err)
			assert.False(t, reached, tc.why)
		})
	}
	err := sandbox.Box{Folder: "/nowhere"}.Run(t.Context(), usual(), strings.NewReader(""), io.Discard)
	require.ErrorContains(t, err, "cannot make a folder for a child process")
}

// failing is a writer on a full disk.
type failing struct{ err error }

// Write implements io.Writer.
func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestSeveral runs children at once, each with more input and output than a pipe holds.
func TestSeveral(t *testing.T) {
	box, err := sandbox.Open(t.TempDir())
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			var out bytes.Buffer
			input := strings.Repeat("unknown\n", 30_000) + "output 300000\n"
			assert.NoError(t, box.Run(t.Context(), usual(), strings.NewReader(input), &out))
			assert.Len(t, strings.SplitAfter(out.String(), "unknown\n"), 30_001)
			assert.True(t, strings.HasSuffix(out.String(), strings.Repeat("\x00", 300_000)))
		})
	}
	all.Wait()
	left, err := os.ReadDir(box.Folder)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// TestNoChild starts the program as usual: only the argument of a child makes it one.
func TestNoChild(t *testing.T) {
	sandbox.Main(func(io.Reader, io.Writer) error {
		assert.Fail(t, "this process is not a child")
		return nil
	})
}

// TestLimitError names the limit and the cure.
func TestLimitError(t *testing.T) {
	err := &sandbox.LimitError{Limit: "1 MiB of memory"}
	require.EqualError(t, err, "needs more than 1 MiB of memory, the limit: split the bundle, or look for a part that grows with each use of another")
	assert.True(t, err.Exceeded())
}
