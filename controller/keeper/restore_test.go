package keeper_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/directory"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/log"
)

// flaky fails to list the blobs at first.
type flaky struct {
	*directory.Store

	failures int
}

func (f *flaky) Below(ctx context.Context, workspace string, fence int64, prefix string) ([]blob.Info, error) {
	if f.failures--; f.failures >= 0 {
		return nil, errors.New("the store is down")
	}
	return f.Store.Below(ctx, workspace, fence, prefix)
}

// logFile stores chunks of a log file of fence 1, of which one is missing.
func logFile(t *testing.T, store *directory.Store, name string, chunks ...string) {
	position := int64(0)
	for i, content := range chunks {
		head := log.Head{File: log.EscapeName(name), Position: position}
		position += int64(len(content))
		if i == 1 {
			continue
		}
		text, err := head.Encode([]byte(content))
		require.NoError(t, err)
		key, err := log.Key(log.StreamOf(name), int64(i+1))
		require.NoError(t, err)
		require.NoError(t, store.Put(t.Context(), blob.Key{Workspace: "w", Fence: 1, Name: key}, bytes.NewReader(text)))
	}
}

// JOBS-DESIGN.md 14: a run finds the log files that are stored of the last one, also where the store is down for a moment;
// what is missing of them stops nothing.
func TestRestoreLogs(t *testing.T) {
	for _, fence := range []int64{0, 1} {
		b := newBench(t, `cat $BASE/logs/a "$BASE/logs/sub/b c" >$STATE/seen; true`)
		store := &flaky{b.store(t), 2}
		logFile(t, store.Store, "a", "one ", "lost ", "three\n")
		logFile(t, store.Store, "sub/b c", "four\n")
		m := &model{next: hold(), fence: 1}
		m.next.Workspace, m.next.LogsFence = "w", fence
		code, err := b.run(t, m, store, nil)
		require.NoError(t, err)
		require.Zero(t, code)
		seen, err := os.ReadFile(b.path("state/seen"))
		require.NoError(t, err)
		assert.Equal(t, map[int64]string{0: "", 1: "one three\nfour\n"}[fence], string(seen))
	}
}

// JOBS-DESIGN.md 14: a chunk that was damaged where it is stored keeps no run from its start, and costs no other file.
func TestRestoreDamagedLogs(t *testing.T) {
	for number, seen := range map[int64]string{1: "two", 2: "onetwo"} {
		b := newBench(t, `cat $BASE/logs/a $BASE/logs/b >$STATE/seen; true`)
		store := b.store(t)
		if number > 1 {
			logFile(t, store, "a", "one")
		}
		logFile(t, store, "b", "two")
		key, err := log.Key(log.StreamOf("a"), number)
		require.NoError(t, err)
		require.NoError(t, store.Put(t.Context(), blob.Key{Workspace: "w", Fence: 1, Name: key}, bytes.NewReader([]byte("damaged"))))
		m := &model{next: hold(), fence: 1}
		m.next.Workspace, m.next.LogsFence = "w", 1
		code, err := b.run(t, m, store, nil)
		require.NoError(t, err)
		assert.Zero(t, code)
		assert.Equal(t, seen, b.read(t, "state/seen"))
	}
}

// JOBS-DESIGN.md 14: a template may have replaced a log file by a folder: one of both is restored, and the run starts.
func TestRestoreReplacedLogs(t *testing.T) {
	b := newBench(t, `cat $BASE/logs/a >$STATE/seen`)
	store := b.store(t)
	logFile(t, store, "a", "one")
	logFile(t, store, "a/b", "two")
	m := &model{next: hold(), fence: 1}
	m.next.Workspace, m.next.LogsFence = "w", 1
	code, err := b.run(t, m, store, nil)
	require.NoError(t, err)
	assert.Zero(t, code)
	assert.Equal(t, "one", b.read(t, "state/seen"))
}
