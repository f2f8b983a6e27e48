package dockerjob

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// asUser calls a function by a thread that has the rights of the contract's user, as an agent has.
func asUser(t *testing.T, call func() error) (err error) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with this function
		if os.Getuid() == 0 {
			_ = syscall.Setfsuid(contract.User)
		}
		err = call()
	}()
	<-done
	return err
}

// begun returns the folder of an attempt, which belongs to the contract's user.
func begun(t *testing.T) Mounts {
	t.Helper()
	parent := folder(t)
	if os.Getuid() == 0 {
		require.NoError(t, os.Chown(parent, contract.User, contract.User))
	}
	f := Mounts(filepath.Join(parent, "u1.2"))
	require.NoError(t, asUser(t, func() error { return f.begin(attempt(), "/none") }))
	return f
}

// closes has a template make a folder that it may not enter any more, with one below.
func closes(t *testing.T, f Mounts, mode os.FileMode) {
	t.Helper()
	closed := filepath.Join(f.State(), "closed")
	require.NoError(t, asUser(t, func() error { return os.MkdirAll(filepath.Join(closed, "below"), 0o700) }))
	require.NoError(t, os.Chmod(closed, mode))
}

// What a template has forbidden itself to enter is removed too.
func TestRemove(t *testing.T) {
	f := begun(t)
	closes(t, f, 0)
	require.NoError(t, asUser(t, f.remove))
	assert.NoDirExists(t, string(f))
	require.NoError(t, f.remove(), "it is gone")
}

// What a run has left goes when it waits for the controller in another form, also what a template has closed.
func TestMountsClear(t *testing.T) {
	f := begun(t)
	closes(t, f, 0o100)
	require.NoError(t, asUser(t, func() error { return os.MkdirAll(f.Exchange().Output(), 0o700) }))
	require.NoError(t, os.Mkdir(f.Spool(), 0o700))
	for range 2 {
		require.NoError(t, asUser(t, f.Clear))
	}
	entries, err := os.ReadDir(string(f))
	require.NoError(t, err)
	var names []string
	for _, one := range entries {
		names = append(names, one.Name())
	}
	assert.Equal(t, []string{"attempt.json", "exchange", "spool"}, names)
	assert.NoDirExists(t, f.Exchange().Output())
}

// A file appears whole, or not at all and with an error.
func TestWrite(t *testing.T) {
	f := begun(t)
	require.NoError(t, f.write("file", []byte("new")))
	require.NoError(t, f.write("file", []byte("newer")))
	text, err := os.ReadFile(f.path("file"))
	require.NoError(t, err)
	assert.Equal(t, "newer", string(text))
	require.NoError(t, os.MkdirAll(f.path("folder/below"), 0o700))
	require.Error(t, f.write("folder", []byte("new")))
	left, err := filepath.Glob(f.path(".new-*"))
	require.NoError(t, err)
	assert.Empty(t, left)
	require.ErrorIs(t, Mounts(f.path("none")).write("file", nil), os.ErrNotExist)
}

// An attempt whose folder cannot be made is not begun, and one that is there stays as it is.
func TestBegin(t *testing.T) {
	f := begun(t)
	changed := attempt()
	changed.Fence++
	require.NoError(t, f.begin(changed, "/none"))
	a, err := f.attempt()
	require.NoError(t, err)
	assert.Equal(t, attempt().Fence, a.Fence)

	file := filepath.Join(folder(t), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.Error(t, Mounts(filepath.Join(file, "u1.2")).begin(attempt(), "/none"))
	secret := attempt()
	secret.Input.Secrets = []run.SecretFile{{Name: "a"}}
	require.Error(t, Mounts(filepath.Join(folder(t), "u1.2")).begin(secret, "\x00"), "no such path")
	none, err := Mounts(folder(t)).attempt()
	require.NoError(t, err)
	assert.Nil(t, none)
	garbled := Mounts(folder(t))
	require.NoError(t, os.WriteFile(garbled.path(attemptName), []byte("{"), 0o600))
	_, err = garbled.attempt()
	require.Error(t, err)
}
