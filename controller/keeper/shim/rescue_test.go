package shim_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
)

// JOBS.md J15: what a tool could not store is in the state when the end is reported; nothing else is, and no link leads
// elsewhere.
func TestRescue(t *testing.T) {
	state := t.TempDir()
	t.Setenv(rescue, state)
	at := exchange.Folder(t.TempDir())
	outside := filepath.Join(t.TempDir(), "outside")
	require.NoError(t, os.WriteFile(outside, []byte("secret"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(state, "errored.tfstate"), []byte("an older and longer one"), 0o600))
	require.NoError(t, syscall.Mkfifo(filepath.Join(state, "pipe.tfstate"), 0o600))
	start(t, at, "sh", "-c", "echo x > pipe.tfstate; echo state > errored.tfstate; mkdir sub; echo x > sub/a.rescue; echo x > other; ln -s "+outside+" link.rescue; "+
		"mkfifo pipe.rescue; mkdir folder.rescue; exit 3")
	require.NoError(t, at.WriteStart(exchange.Start{}))
	assert.Equal(t, exchange.Ended{Code: 3, Ran: true}, wait(t, at))
	text, err := os.ReadFile(filepath.Join(state, "errored.tfstate"))
	require.NoError(t, err)
	assert.Equal(t, "state\n", string(text))
	assert.FileExists(t, filepath.Join(state, "sub", "a.rescue"))
	info, err := os.Lstat(filepath.Join(state, "pipe.tfstate"))
	require.NoError(t, err)
	assert.True(t, info.Mode().IsRegular(), "nobody waits for a reader of a pipe")
	entries, err := os.ReadDir(state)
	require.NoError(t, err)
	assert.Len(t, entries, 3)
}
