package dockerjob

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
)

// An image is imported once, and the engine is described by all that decides how containers are carried out.
func TestImport(t *testing.T) {
	fake, c := newFake(t)
	e := open(t, c, folder(t), waits)
	for range 2 {
		require.NoError(t, e.Import(t.Context(), "selftest:v1", strings.NewReader("tar")))
	}
	assert.Equal(t, []string{"selftest:v1"}, fake.pulled)
	require.ErrorContains(t, e.Import(t.Context(), "none.example/a:1", strings.NewReader("tar")), "the engine cannot import image none.example/a:1: ")
	version, err := e.Version(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "engine 20.10 kernel 6.1 runtime runc name=seccomp,profile=default", version)
}

// A container that is killed has its folders still, and what an earlier agent has left is removed.
func TestClear(t *testing.T) {
	fake, c := newFake(t, "example.org/a:1")
	path := folder(t)
	require.NoError(t, Mounts(filepath.Join(path, "u1.2")).begin(attempt(), "/none"))
	e := open(t, c, path, waits)
	require.Eventually(t, func() bool { return fake.starts() == 1 }, time.Minute, 5*time.Millisecond)
	state, shared := e.Folders(attempt().Name)
	assert.Equal(t, filepath.Join(path, "u1.2", "state"), state)
	assert.Equal(t, filepath.Join(path, "u1.2", "exchange"), string(shared))
	require.ErrorContains(t, e.Kill(t.Context(), executor.Name{Run: "none", UID: "u9", Number: 1}), "cannot kill attempt 1 of Run /none: ")
	require.NoError(t, e.Kill(t.Context(), attempt().Name))
	require.NoError(t, e.Clear(t.Context()))
	sees(t, e, gone)
	assert.Empty(t, fake.containers)
}
