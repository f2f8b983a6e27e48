package redaction_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/redaction"
)

// buffer is an output.
type buffer struct {
	bytes.Buffer

	closed bool
}

// Close implements io.Closer.
func (b *buffer) Close() error {
	b.closed = true
	return nil
}

// JOBS.md J14: a value that two writes have a part of each leaves no trace, and an end that only looks like one is not lost.
func TestCleaner(t *testing.T) {
	at, to := t.TempDir(), &buffer{}
	require.NoError(t, os.WriteFile(filepath.Join(at, "password"), []byte("s3cret-1\n"), 0o600))
	w := &redaction.Cleaner{To: to, Secrets: &redaction.Mounted{Path: at}}
	for _, part := range []string{"a s3c", "ret", "-1 b s3cr"} {
		n, err := w.Write([]byte(part))
		require.NoError(t, err)
		assert.Equal(t, len(part), n)
		assert.NotContains(t, to.String(), "s3c")
	}
	assert.Equal(t, "a [redacted] b ", to.String())
	require.NoError(t, w.Close())
	assert.Equal(t, "a [redacted] b s3cr", to.String())
	assert.True(t, to.closed)
}

// broken is an output that takes nothing.
type broken struct{ buffer }

var errBroken = errors.New("it is broken")

// Write implements io.Writer.
func (*broken) Write([]byte) (int, error) { return 0, errBroken }

// An output that cannot be written is reported, and secrets that cannot be listed block none.
func TestCleanerTrouble(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	to := &buffer{}
	c := &redaction.Cleaner{To: to, Secrets: &redaction.Mounted{Path: file}}
	_, err := c.Write([]byte("text"))
	require.NoError(t, err)
	assert.Equal(t, "text", to.String())
	c = &redaction.Cleaner{To: &broken{}, Secrets: &redaction.Mounted{}}
	_, err = c.Write([]byte("text"))
	require.ErrorIs(t, err, errBroken)
	require.ErrorIs(t, c.Close(), errBroken)
}
