package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// memory returns a folder in memory.
func memory(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("/dev/shm", "orcon-") //nolint:usetesting // a tmpfs
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return folder
}

// JOBS.md J14: no secret may be on a disk, nor where others have access.
func TestInMemory(t *testing.T) {
	memory := memory(t)
	own := filepath.Join(memory, "own")
	for range 2 {
		require.NoError(t, inMemory(own))
	}
	require.NoError(t, os.Chmod(own, 0o750))
	require.ErrorContains(t, inMemory(own), "others may have access")
	require.NoError(t, os.Chmod(own, 0o700))
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(own, contract.User, contract.User))
		require.EqualError(t, inMemory(own), "it belongs to uid 65532, and the agent has uid 0: remove it, or name another one by --secrets")
	}
	link := filepath.Join(memory, "link")
	require.NoError(t, os.Symlink(memory, link))
	require.ErrorContains(t, inMemory(link), "others may have access")
	disk := filepath.Join("/var/tmp", filepath.Base(memory))
	t.Cleanup(func() { _ = os.RemoveAll(disk) })
	require.ErrorContains(t, inMemory(disk), "it is on a disk: name one of a tmpfs by --secrets")
	require.Error(t, inMemory("/proc/none"))
}
