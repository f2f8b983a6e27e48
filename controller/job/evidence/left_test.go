package evidence_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/directory"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/evidence"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// What a Workspace leaves counts for another one of its name that has used no fence, unless it was destroyed or is empty
// (JOBS-DESIGN.md 11 and 12).
func TestLeft(t *testing.T) {
	store, err := directory.Open(t.TempDir())
	require.NoError(t, err)
	archive := workspace.Blob{Digest: "d", Key: "one/k", Fence: 2}
	for _, l := range []evidence.Left{
		{Name: "shop/db", UID: "one", Generation: 4, Archive: archive},
		{Name: "shop/destroyed", UID: "two", Generation: 9, Archive: archive, Destroyed: true},
		{Name: "shop/empty", UID: "three", Generation: 8},
	} {
		require.NoError(t, evidence.Leave(t.Context(), store, l))
		l.Destroyed = !l.Destroyed
		require.NoError(t, evidence.Leave(t.Context(), store, l), "the first record stays")
	}
	extent := func(uid string, w workspace.Workspace) int64 {
		e, err := evidence.Extent(t.Context(), store, uid, w)
		require.NoError(t, err)
		return e.Left
	}
	assert.Equal(t, int64(4), extent("new", workspace.Workspace{Name: "shop/db"}))
	assert.Zero(t, extent("new", workspace.Workspace{Name: "shop/db", Fence: 1}), "it was decided")
	assert.Zero(t, extent("one", workspace.Workspace{Name: "shop/db"}), "it is not gone: its object was restored")
	for _, name := range []string{"shop/destroyed", "shop/empty", "shop/none"} {
		assert.Zero(t, extent("new", workspace.Workspace{Name: name}), name)
	}
	all, err := evidence.LeftBy(t.Context(), store, "shop/db")
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.NoError(t, evidence.Forget(t.Context(), store, all[0]))
	assert.Zero(t, extent("new", workspace.Workspace{Name: "shop/db"}))
}

// The last one of several Workspaces of a name counts: it had taken over the objects of those before it.
func TestLastLeft(t *testing.T) {
	folder := t.TempDir()
	store, err := directory.Open(folder)
	require.NoError(t, err)
	archive := workspace.Blob{Digest: "d", Key: "one/k", Fence: 2}
	require.NoError(t, evidence.Leave(t.Context(), store, evidence.Left{Name: "shop/db", UID: "b", Generation: 4, Archive: archive}))
	files, err := filepath.Glob(filepath.Join(folder, "left-*", "*", "b"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.NoError(t, os.Chtimes(files[0], time.Time{}, time.Now().Add(-time.Hour)))
	require.NoError(t, evidence.Leave(t.Context(), store, evidence.Left{Name: "shop/db", UID: "c", Generation: 6, Archive: archive, Destroyed: true}))
	e, err := evidence.Extent(t.Context(), store, "new", workspace.Workspace{Name: "shop/db"})
	require.NoError(t, err)
	assert.Zero(t, e.Left)
}

// What went without a record is found by its newest generation and its last manifest.
func TestFind(t *testing.T) {
	store, err := directory.Open(t.TempDir())
	require.NoError(t, err)
	for key, content := range map[blob.Key]string{
		{Workspace: "one", Fence: 2, Name: "run"}:                   `{"namespace": "old", "workspace": "db"}`,
		{Workspace: "one", Fence: 3, Name: "run"}:                   `{"namespace": "shop", "workspace": "db", "state": {}}`,
		{Workspace: "one", Fence: 3, Name: "generation-0000000004"}: `{"digest": "sha256:1", "key": "one/3/state-1"}`,
		{Workspace: "one", Fence: 4, Name: "claimant"}:              "pod",
		{Workspace: "two", Fence: 1, Name: "claimant"}:              "pod",
		{Workspace: blob.Own, Fence: 1, Name: "age1x"}:              "",
	} {
		require.NoError(t, store.Put(t.Context(), key, strings.NewReader(content)))
	}
	found, err := evidence.Find(t.Context(), store, "one")
	require.NoError(t, err)
	want := evidence.Left{
		Name: "shop/db", UID: "one", Generation: 4, Archive: workspace.Blob{Digest: "sha256:1", Key: "one/3/state-1", Fence: 3},
	}
	assert.Equal(t, want, found)
	nameless, err := evidence.Find(t.Context(), store, "two")
	require.NoError(t, err)
	assert.Equal(t, evidence.Left{UID: "two"}, nameless)
	require.NoError(t, evidence.Leave(t.Context(), store, found))
	stock, err := evidence.Inventory(t.Context(), store)
	require.NoError(t, err)
	assert.Equal(t, []string{"one", "two"}, stock.UIDs, "what the store keeps about itself is no Workspace")
	require.Len(t, stock.Left, 1)
	stock.Left[0].Since = found.Since
	assert.Equal(t, found, stock.Left[0])
}
