package evidence_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive/state"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/directory"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/evidence"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// The store reaches as far as its highest fence and its highest generation, each Workspace by itself (JOBS.md J20).
func TestExtent(t *testing.T) {
	store, err := directory.Open(t.TempDir())
	require.NoError(t, err)
	e, err := evidence.Extent(t.Context(), store, "w", workspace.Workspace{})
	require.NoError(t, err)
	assert.Equal(t, workspace.Extent{}, e)
	for key, content := range map[blob.Key]string{
		{Workspace: "w", Fence: 2, Name: "generation-0000000012"}: "{}",
		{Workspace: "w", Fence: 9, Name: "claimant"}:              "pod",
		{Workspace: "w", Fence: 3, Name: "state-a"}:               "x",
		{Workspace: "other", Fence: 40, Name: "claimant"}:         "p",
	} {
		require.NoError(t, store.Put(t.Context(), key, strings.NewReader(content)))
	}
	e, err = evidence.Extent(t.Context(), store, "w", workspace.Workspace{})
	require.NoError(t, err)
	assert.Equal(t, workspace.Extent{Fence: 9, Generation: 12}, e)
	e, err = evidence.Extent(t.Context(), store, "w", workspace.Workspace{Fence: 9})
	require.NoError(t, err)
	assert.Equal(t, workspace.Extent{Fence: 9}, e, "what the Workspace knows is not listed")
	for fence, want := range map[int64]string{9: "pod", 2: "", 0: ""} {
		got, err := evidence.Claimant(t.Context(), store, "w", fence)
		require.NoError(t, err)
		assert.Equal(t, want, got, fence)
	}
	require.NoError(t, store.Put(t.Context(), blob.Key{Workspace: "w", Fence: 9, Name: "generation-x"}, strings.NewReader("")))
	_, err = evidence.Extent(t.Context(), store, "w", workspace.Workspace{})
	require.ErrorContains(t, err, "generation-x")
}

// away is a store that does not answer.
type away struct{ blob.Store }

var errAway = errors.New("connection refused")

// Fences implements blob.Store.
func (away) Fences(context.Context, string) ([]int64, error) { return nil, errAway }

// Below implements blob.Store.
func (away) Below(context.Context, string, int64, string) ([]blob.Info, error) { return nil, errAway }

// Workspaces implements blob.Store.
func (away) Workspaces(context.Context) ([]string, error) { return nil, errAway }

// Get implements blob.Store.
func (away) Get(context.Context, blob.Key) (io.ReadCloser, error) { return nil, errAway }

// A store that does not answer is none that has nothing.
func TestAway(t *testing.T) {
	_, err := evidence.Extent(t.Context(), away{}, "w", workspace.Workspace{})
	require.ErrorIs(t, err, errAway)
	_, err = evidence.Extent(t.Context(), away{}, "w", workspace.Workspace{Fence: 1})
	require.ErrorIs(t, err, errAway)
	_, err = evidence.Inventory(t.Context(), away{})
	require.ErrorIs(t, err, errAway)
	_, err = evidence.Claimant(t.Context(), away{}, "w", 1)
	require.ErrorIs(t, err, errAway)
}

// inSeconds is a store whose blobs are all of one second.
type inSeconds struct{ blob.Store }

// Below implements blob.Store.
func (s inSeconds) Below(ctx context.Context, workspace string, fence int64, prefix string) ([]blob.Info, error) {
	all, err := s.Store.Below(ctx, workspace, fence, prefix)
	for i := range all {
		all[i].Stored = time.Unix(1, 0)
	}
	return all, err
}

// JOBS.md J9: an archive whose end was lost is found, also where the last checkpoint was stored in the same second.
func TestUploadedWithinASecond(t *testing.T) {
	store, err := directory.Open(t.TempDir())
	require.NoError(t, err)
	defer store.Close()
	var keys []string
	for _, name := range []string{"state-a", "state-b"} {
		folder := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), nil, 0o600))
		var packed bytes.Buffer
		_, err := state.Capture(&packed, folder, state.Options{Limit: 1 << 20})
		require.NoError(t, err)
		key := blob.Key{Workspace: "w", Fence: 1, Name: name}
		require.NoError(t, store.Put(t.Context(), key, bytes.NewReader(packed.Bytes())))
		keys = append(keys, key.String())
	}
	for at, checkpoint := range keys {
		w := workspace.Workspace{
			Lock: workspace.Lock{Fence: 1}, Checkpoint: workspace.Checkpoint{Sequence: 1, Blob: workspace.Blob{Key: checkpoint, Fence: 1}},
		}
		found, err := evidence.Uploaded(t.Context(), inSeconds{store}, "w", w, 1<<20)
		require.NoError(t, err)
		assert.Equal(t, keys[1-at], found.Key)
	}
}
