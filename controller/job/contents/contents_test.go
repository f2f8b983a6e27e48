package contents_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/directory"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/contents"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

func open(t *testing.T) blob.Store {
	t.Helper()
	store, err := directory.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, store.Close()) })
	return store
}

func tree(t *testing.T, content string) bundle.Tree {
	t.Helper()
	var all bundle.Tree
	require.NoError(t, all.Add("run.sh", bundle.File{Content: []byte(content), Executable: true}))
	require.NoError(t, all.Add("a/b", bundle.File{Content: []byte("b")}))
	return all
}

// JOBS.md J16: what is stored comes back as it was, and each namespace has its own.
func TestContents(t *testing.T) {
	store, one, two := open(t), tree(t, "one"), tree(t, "two")
	for range 2 {
		digest, err := contents.Put(t.Context(), store, "shop", &one)
		require.NoError(t, err)
		assert.Equal(t, one.Digest(), digest)
	}
	_, err := contents.Put(t.Context(), store, "shop", &two)
	require.NoError(t, err)
	got, err := contents.Get(t.Context(), store, "shop", one.Digest())
	require.NoError(t, err)
	assert.Equal(t, one, got)
	_, err = contents.Get(t.Context(), store, "bank", one.Digest())
	require.ErrorIs(t, err, contents.ErrMissing, "another namespace")
	all, err := contents.List(t.Context(), store, "shop")
	require.NoError(t, err)
	var digests []string
	for _, c := range all {
		digests = append(digests, c.Digest)
	}
	assert.ElementsMatch(t, []string{one.Digest(), two.Digest()}, digests)
	places, err := store.Workspaces(t.Context())
	require.NoError(t, err)
	require.Len(t, places, 1)
	namespace, is := contents.Namespace(places[0])
	assert.True(t, is)
	assert.Equal(t, "shop", namespace)
	_, is = contents.Namespace("0b8a2f5c-3c2e-4a43-8f0e-8f1f3a2f3f55")
	assert.False(t, is, "the UID of a JobWorkspace")
}

// What another version packed otherwise is the same content; what is not what its name says is refused.
func TestStoredOtherwise(t *testing.T) {
	store, one, two := open(t), tree(t, "one"), tree(t, "two")
	require.NoError(t, store.Put(t.Context(), contents.Key("shop", one.Digest()), strings.NewReader("packed otherwise")))
	_, err := contents.Put(t.Context(), store, "shop", &one)
	require.NoError(t, err)
	_, err = contents.Get(t.Context(), store, "shop", one.Digest())
	require.ErrorContains(t, err, "cannot read content "+one.Digest()+" of namespace shop")
	_, err = contents.Put(t.Context(), store, "shop", &two)
	require.NoError(t, err)
	in, err := store.Get(t.Context(), contents.Key("shop", two.Digest()))
	require.NoError(t, err)
	text, err := io.ReadAll(in)
	require.NoError(t, errors.Join(err, in.Close()))
	three := "sha256:" + strings.Repeat("3", 64)
	require.NoError(t, store.Put(t.Context(), contents.Key("shop", three), strings.NewReader(string(text))))
	_, err = contents.Get(t.Context(), store, "shop", three)
	require.ErrorContains(t, err, "the store has content "+two.Digest()+" in its place")
}

// broken is a store that cannot be reached.
type broken struct{ blob.Store }

var errDown = errors.New("down")

func (broken) Put(context.Context, blob.Key, io.ReadSeeker) error { return errDown }

func (broken) Get(context.Context, blob.Key) (io.ReadCloser, error) { return nil, errDown }

func (broken) Below(context.Context, string, int64, string) ([]blob.Info, error) { return nil, errDown }

// A store that cannot be reached does not lack a content.
func TestUnreachable(t *testing.T) {
	one := tree(t, "one")
	_, err := contents.Put(t.Context(), broken{}, "shop", &one)
	require.ErrorIs(t, err, errDown)
	_, err = contents.Get(t.Context(), broken{}, "shop", one.Digest())
	require.ErrorIs(t, err, errDown)
	require.NotErrorIs(t, err, contents.ErrMissing)
	_, err = contents.List(t.Context(), broken{}, "shop")
	require.ErrorIs(t, err, errDown)
}
