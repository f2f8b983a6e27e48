package blobtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
)

// Conformance runs all that holds for each adapter. open returns an empty store.
func Conformance(t *testing.T, open func(t *testing.T) blob.Store) {
	Contents(t, open)
	for name, run := range map[string]func(*testing.T, blob.Store){"List": list, "Index": index} {
		t.Run(name, func(t *testing.T) { run(t, open(t)) })
	}
}

// Contents runs what holds also for a store that keeps contents in another form, whose sizes differ.
func Contents(t *testing.T, open func(t *testing.T) blob.Store) {
	for name, run := range map[string]func(*testing.T, blob.Store){
		"WriteOnce": writeOnce, "Delete": remove, "Failures": failures, "Race": race, "Large": large,
	} {
		t.Run(name, func(t *testing.T) { run(t, open(t)) })
	}
}

func key(fence int64, name string) blob.Key {
	return blob.Key{Workspace: "one", Fence: fence, Name: name}
}

// Read returns the content of a blob.
func Read(t require.TestingT, s blob.Store, k blob.Key) string {
	in, err := s.Get(context.Background(), k)
	require.NoError(t, err)
	content, err := io.ReadAll(in)
	require.NoError(t, errors.Join(err, in.Close()))
	return string(content)
}

func writeOnce(t *testing.T, s blob.Store) {
	ctx := t.Context()
	_, err := s.Get(ctx, key(1, "a"))
	require.ErrorIs(t, err, blob.ErrNotFound)
	require.NoError(t, s.Put(ctx, key(1, "a"), strings.NewReader("x")))
	require.NoError(t, s.Put(ctx, key(1, "a"), strings.NewReader("x")), "an upload whose answer was lost is sent again")
	for _, other := range []string{"", "y", "xx"} {
		require.ErrorIs(t, s.Put(ctx, key(1, "a"), strings.NewReader(other)), blob.ErrConflict, other)
	}
	assert.Equal(t, "x", Read(t, s, key(1, "a")))
	require.NoError(t, s.Put(ctx, key(2, "a"), strings.NewReader("y")), "another fence shares nothing")
	require.NoError(t, s.Put(ctx, key(1, "empty"), strings.NewReader("")))
	assert.Empty(t, Read(t, s, key(1, "empty")))
	for _, bad := range []blob.Key{{}, key(0, "a"), key(1, "../a")} {
		require.Error(t, s.Put(ctx, bad, strings.NewReader("x")))
		_, err := s.Get(ctx, bad)
		require.Error(t, err)
		require.Error(t, s.Delete(ctx, bad))
	}
}

func list(t *testing.T, s blob.Store) {
	ctx := t.Context()
	found, err := s.List(ctx, "")
	require.NoError(t, err)
	assert.Empty(t, found)
	want := []blob.Key{key(2, "a"), key(2, "b"), key(10, "a"), {Workspace: "one-more", Fence: 1, Name: "a"}}
	for i := range want {
		require.NoError(t, s.Put(ctx, want[len(want)-1-i], strings.NewReader("xyz")))
	}
	keys := func(workspace string) []blob.Key {
		found, err := s.List(ctx, workspace)
		require.NoError(t, err)
		var keys []blob.Key
		for _, one := range found {
			keys = append(keys, one.Key)
			assert.Equal(t, int64(3), one.Size)
			assert.WithinDuration(t, time.Now(), one.Stored, time.Hour)
		}
		return keys
	}
	assert.Equal(t, want, keys(""))
	assert.Equal(t, want[:3], keys("one"), "a workspace whose name begins alike is another one")
	assert.Empty(t, keys("none"))
	_, err = s.List(ctx, "../one")
	require.Error(t, err)
}

func index(t *testing.T, s blob.Store) {
	ctx := t.Context()
	fences, err := s.Fences(ctx, "one")
	require.NoError(t, err)
	assert.Empty(t, fences)
	below, err := s.Below(ctx, "one", 1, "")
	require.NoError(t, err)
	assert.Empty(t, below)
	other := blob.Key{Workspace: "one-more", Fence: 7, Name: "a"}
	for _, k := range []blob.Key{key(10, "a"), key(2, "log-b"), key(2, "log-a"), key(2, "a"), key(20, "a"), other} {
		require.NoError(t, s.Put(ctx, k, strings.NewReader("xyz")))
	}
	fences, err = s.Fences(ctx, "one")
	require.NoError(t, err)
	assert.Equal(t, []int64{2, 10, 20}, fences)
	workspaces, err := s.Workspaces(ctx)
	require.NoError(t, err)
	assert.Equal(t, []string{"one", "one-more"}, workspaces)
	for prefix, want := range map[string][]blob.Key{
		"": {key(2, "a"), key(2, "log-a"), key(2, "log-b")}, "log-": {key(2, "log-a"), key(2, "log-b")}, "x": nil,
	} {
		below, err := s.Below(ctx, "one", 2, prefix)
		require.NoError(t, err)
		var keys []blob.Key
		for _, one := range below {
			keys = append(keys, one.Key)
			assert.Equal(t, int64(3), one.Size)
			assert.WithinDuration(t, time.Now(), one.Stored, time.Hour)
		}
		assert.Equal(t, want, keys, prefix)
	}
	require.NoError(t, s.Delete(ctx, key(10, "a")))
	fences, err = s.Fences(ctx, "one")
	require.NoError(t, err)
	assert.Equal(t, []int64{2, 20}, fences, "a fence without blobs is none")
	_, err = s.Fences(ctx, "../one")
	require.Error(t, err)
	require.NoError(t, s.Delete(ctx, other))
	workspaces, err = s.Workspaces(ctx)
	require.NoError(t, err)
	assert.Equal(t, []string{"one"}, workspaces, "a workspace without blobs is none")
	_, err = s.Below(ctx, "one", 0, "")
	require.Error(t, err)
}

func remove(t *testing.T, s blob.Store) {
	ctx := t.Context()
	require.NoError(t, s.Delete(ctx, key(1, "a")), "it is not there")
	require.NoError(t, s.Put(ctx, key(1, "a"), strings.NewReader("x")))
	require.NoError(t, s.Put(ctx, key(1, "b"), strings.NewReader("y")))
	require.NoError(t, s.Delete(ctx, key(1, "a")))
	_, err := s.Get(ctx, key(1, "a"))
	require.ErrorIs(t, err, blob.ErrNotFound)
	assert.Equal(t, "y", Read(t, s, key(1, "b")))
	require.NoError(t, s.Put(ctx, key(1, "a"), strings.NewReader("z")), "its key is free")
	require.NoError(t, s.Delete(ctx, key(1, "a")))
	require.NoError(t, s.Delete(ctx, key(1, "b")))
	found, err := s.List(ctx, "one")
	require.NoError(t, err)
	assert.Empty(t, found)
}

// broken gives some bytes and fails.
type broken struct{ io.Reader }

// Seek implements io.Seeker: it is longer than what can be read.
func (broken) Seek(offset int64, whence int) (int64, error) {
	if whence == io.SeekEnd {
		return 10, nil
	}
	return offset, nil
}

func failures(t *testing.T, s blob.Store) {
	failed := errors.New("the archive cannot be read")
	content := broken{io.MultiReader(strings.NewReader("begin"), iotest.ErrReader(failed))}
	require.Error(t, s.Put(t.Context(), key(1, "a"), content))
	_, err := s.Get(t.Context(), key(1, "a"))
	require.ErrorIs(t, err, blob.ErrNotFound, "a half blob is none")
	require.NoError(t, s.Put(t.Context(), key(1, "a"), strings.NewReader("whole")))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Put(ctx, key(1, "b"), strings.NewReader("x")), context.Canceled)
	_, err = s.List(ctx, "")
	require.ErrorIs(t, err, context.Canceled)
}

func race(t *testing.T, s blob.Store) {
	const writers = 8
	errs := make([]error, writers)
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() { errs[i] = s.Put(t.Context(), key(1, "a"), strings.NewReader(fmt.Sprint("content ", i%2))) })
	}
	all.Wait()
	got := Read(t, s, key(1, "a"))
	for i, err := range errs {
		if got == fmt.Sprint("content ", i%2) {
			require.NoError(t, err, "the same content")
		} else {
			require.ErrorIs(t, err, blob.ErrConflict, "other content is never taken silently")
		}
	}
}

func large(t *testing.T, s blob.Store) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<20) // 16 MiB
	require.NoError(t, s.Put(t.Context(), key(1, "a"), bytes.NewReader(content)))
	require.NoError(t, s.Put(t.Context(), key(1, "a"), bytes.NewReader(content)))
	in, err := s.Get(t.Context(), key(1, "a"))
	require.NoError(t, err)
	same, err := blob.Equal(in, bytes.NewReader(content))
	require.NoError(t, errors.Join(err, in.Close()))
	require.True(t, same)
	content[len(content)-1] = 'x'
	require.ErrorIs(t, s.Put(t.Context(), key(1, "a"), bytes.NewReader(content)), blob.ErrConflict)
}
