package selftest

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/conformance"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// JOBS.md J15: a machine finds out by itself where it does not keep the contract: here are processes, which have neither
// the user, the root, the paths and the mounts of a container, nor a loopback of their own.
func TestDrive(t *testing.T) {
	h := newHost(t)
	report, err := Drive(t.Context(), h.machine)
	require.NoError(t, err)
	assert.Equal(t, contract.Version, report.Contract)
	var found []string
	for _, d := range conformance.Differences(conformance.Golden(), report) {
		found = append(found, d.Check)
	}
	assert.ElementsMatch(t, []string{
		"user", "root", "privileges", "working directory", "variable HOME", "variable TMPDIR", "variable ORCON_STATE", "variable ORCON_PARAMETERS",
		"variable ORCON_OUTPUTS", "variable ORCON_LOGS", "variable ORCON_SECRETS", "mounts", "state over HTTP", "state over HTTP comes back",
	}, found)
	assert.Empty(t, h.runs, "nothing is left")
	left, err := os.ReadDir(h.folder)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// away is an engine that fails.
type away struct{ *host }

var errAway = errors.New("no engine")

// Start implements executor.Executor.
func (away) Start(context.Context, executor.Attempt) error { return errAway }

// deafened is an engine that cannot kill, and blind is one that cannot be looked at.
type deafened struct{ *host }

// Kill implements Containers.
func (deafened) Kill(context.Context, executor.Name) error { return errAway }

type blind struct{ *host }

// Look implements executor.Executor.
func (blind) Look(context.Context, executor.Name) (executor.Sight, error) {
	return executor.Sight{}, errAway
}

// stuck is an engine whose runs cannot be removed.
type stuck struct{ *host }

// Remove implements executor.Executor.
func (s stuck) Remove(ctx context.Context, n executor.Name) error {
	return errors.Join(s.host.Remove(ctx, n), errAway)
}

// An engine that fails is no result, and what does not end is removed, with the reason that the engine has.
func TestTrouble(t *testing.T) {
	h := newHost(t)
	h.machine.Containers = away{h}
	_, err := Drive(t.Context(), h.machine)
	require.ErrorIs(t, err, errAway)
	h.machine.Containers = deafened{h}
	_, err = h.machine.Run(t.Context(), Exercise{Args: []string{stop}, Fault: Kill})
	require.ErrorIs(t, err, errAway)
	assert.Empty(t, h.runs)
	h.machine.Containers = blind{h}
	_, err = h.machine.Run(t.Context(), Exercise{Args: []string{exit, "0"}})
	require.ErrorIs(t, err, errAway)
	assert.Empty(t, h.runs)
	h.machine.Containers = stuck{h}
	_, err = h.machine.Run(t.Context(), Exercise{Args: []string{exit, "0"}})
	require.ErrorIs(t, err, errAway)

	h.machine.Containers, h.machine.Hindered = h, time.Millisecond
	_, err = h.machine.Run(t.Context(), Exercise{Args: []string{stop}})
	require.EqualError(t, err, "it does not end: it goes on", "the engine has an obstacle")
	assert.Empty(t, h.runs)
	h.machine.Hindered, h.machine.Patience = 0, time.Second
	_, err = h.machine.Run(t.Context(), Exercise{Args: []string{stop}})
	require.ErrorContains(t, err, "it does not end: context deadline exceeded: it goes on")
	_, err = h.machine.Run(t.Context(), Exercise{Args: []string{exit, "x"}, Fault: Cancel})
	require.ErrorContains(t, err, "its program is not ready: context deadline exceeded")
	assert.Empty(t, h.runs)
	left, err := os.ReadDir(h.folder)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// The image has content in its working directory, which all may read, whatever a storage driver makes of missing folders.
func TestFolder(t *testing.T) {
	text, err := Folder()
	require.NoError(t, err)
	in := tar.NewReader(bytes.NewReader(text))
	head, err := in.Next()
	require.NoError(t, err)
	assert.Equal(t, "work/ drwxr-xr-x", head.Name+" "+head.FileInfo().Mode().String())
	head, err = in.Next()
	require.NoError(t, err)
	assert.Equal(t, "work/content", head.Name)
	file, err := io.ReadAll(in)
	require.NoError(t, err)
	assert.Equal(t, "of the image\n", string(file))
	_, err = in.Next()
	require.ErrorIs(t, err, io.EOF)
	again, err := Folder()
	require.NoError(t, err)
	assert.Equal(t, text, again)
}
