package git

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/memory"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// A few objects of a repository stand for any number of files, since trees share their parts: those that are not wanted are
// not walked through, and of folders there are not too many (BUNDLES.md 1).
func TestReadBoundsFolders(t *testing.T) {
	store := memory.NewStorage()
	write := func(o interface {
		Encode(o plumbing.EncodedObject) error
	}) plumbing.Hash {
		encoded := store.NewEncodedObject()
		require.NoError(t, o.Encode(encoded))
		hash, err := store.SetEncodedObject(encoded)
		require.NoError(t, err)
		return hash
	}
	blob := store.NewEncodedObject()
	blob.SetType(plumbing.BlobObject)
	content, err := store.SetEncodedObject(blob)
	require.NoError(t, err)
	wanted := write(&object.Tree{Entries: []object.TreeEntry{{Name: "a.yaml", Mode: filemode.Regular, Hash: content}}})
	bomb := write(&object.Tree{})
	for range 30 {
		var entries []object.TreeEntry
		for i := range 10 {
			entries = append(entries, object.TreeEntry{Name: fmt.Sprint("d", i), Mode: filemode.Dir, Hash: bomb})
		}
		bomb = write(&object.Tree{Entries: entries})
	}
	top := write(&object.Tree{Entries: []object.TreeEntry{{Name: "bomb", Mode: filemode.Dir, Hash: bomb}, {Name: "wanted", Mode: filemode.Dir, Hash: wanted}}})
	commit := write(&object.Commit{TreeHash: top})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tree, err := read(store, commit, "wanted")
		assert.NoError(t, err)
		assert.Equal(t, []string{"wanted/a.yaml"}, tree.Paths())
		for _, none := range []string{"absent", "wanted/a.yaml"} {
			tree, err = read(store, commit, none)
			assert.NoError(t, err)
			assert.Empty(t, tree.Paths())
		}
		_, err = read(store, commit, "bomb")
		assert.ErrorIs(t, err, bundle.ErrLimit)
		_, err = read(store, commit, "")
		assert.ErrorIs(t, err, bundle.ErrLimit)
	}()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		require.Fail(t, "it walks through all of it")
	}
}
