package collection_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/blobtest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/directory"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/contents"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// JOBS.md J5: a content that is pushed again, long after nothing named it any more, stays for a day: its template is about to
// name it.
func TestContentPushedAgain(t *testing.T) {
	folder := t.TempDir()
	store, err := directory.Open(folder)
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	b := newBench(t, store)
	var files bundle.Tree
	require.NoError(t, files.Add("main.tf", bundle.File{Content: []byte("x")}))
	_, err = contents.Put(t.Context(), store, "shop", &files)
	require.NoError(t, err)
	old := time.Now().Add(-48 * time.Hour)
	require.NoError(t, filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			err = os.Chtimes(path, old, old)
		}
		return err
	}))
	_, err = contents.Put(t.Context(), store, "shop", &files)
	require.NoError(t, err)
	b.collect(0)
	found, err := contents.List(t.Context(), store, "shop")
	require.NoError(t, err)
	assert.Len(t, found, 1)
}

// A blob that is refreshed counts as stored now, in each kind of store; one that is not there is not found.
func TestRefresh(t *testing.T) {
	each(t, func(b *bench) {
		b.put("w", "1/state-a")
		before, err := b.store.Below(b.t.Context(), "w", 1, "")
		require.NoError(b.t, err)
		require.Eventually(b.t, func() bool { // a server with the S3 API counts whole seconds
			require.NoError(b.t, b.store.Refresh(b.t.Context(), key(b.t, "w", "1/state-a")))
			after, err := b.store.Below(b.t.Context(), "w", 1, "")
			require.NoError(b.t, err)
			return len(after) == 1 && after[0].Stored.After(before[0].Stored)
		}, 10*time.Second, 100*time.Millisecond)
		assert.Equal(b.t, "{}", blobtest.Read(b.t, b.store, key(b.t, "w", "1/state-a")))
		require.ErrorIs(b.t, b.store.Refresh(b.t.Context(), key(b.t, "w", "2/state-a")), blob.ErrNotFound)
	})
}
