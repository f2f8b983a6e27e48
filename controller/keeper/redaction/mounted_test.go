package redaction_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/redaction"
)

// publish writes a version of a secret as the kubelet does: a link to a link that is replaced at once.
func publish(t *testing.T, at, version, value string) {
	require.NoError(t, os.Mkdir(filepath.Join(at, version), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(at, version, "password"), []byte(value), 0o600))
	require.NoError(t, os.Symlink(version, filepath.Join(at, "..new")))
	require.NoError(t, os.Rename(filepath.Join(at, "..new"), filepath.Join(at, "..data")))
	if err := os.Symlink(filepath.Join("..data", "password"), filepath.Join(at, "password")); !os.IsExist(err) {
		require.NoError(t, err)
	}
}

// redacted returns a text without the values of a folder.
func redacted(t *testing.T, f *redaction.Mounted, text string) string {
	values, err := f.Values()
	require.NoError(t, err)
	out, _ := values.Replace([]byte(text), true)
	return string(out)
}

// JOBS.md J14: a value that is replaced while the run goes on is known from then on, and the one before stays known.
func TestMounted(t *testing.T) {
	at := t.TempDir()
	f := &redaction.Mounted{Path: at}
	assert.Equal(t, "first second", redacted(t, f, "first second"), "there are none yet")
	publish(t, at, "..1", "first")
	assert.Equal(t, "[redacted] second", redacted(t, f, "first second"))
	publish(t, at, "..2", "second")
	assert.Equal(t, "[redacted] [redacted]", redacted(t, f, "first second"))
}

// A run without secrets has nothing to redact, and a folder that cannot be listed is reported.
func TestNone(t *testing.T) {
	for _, path := range []string{"", filepath.Join(t.TempDir(), "none")} {
		assert.Equal(t, "text", redacted(t, &redaction.Mounted{Path: path}, "text"))
	}
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := (&redaction.Mounted{Path: file}).Values()
	require.ErrorContains(t, err, "cannot look for the secrets to redact")
}
