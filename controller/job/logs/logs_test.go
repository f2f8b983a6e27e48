package logs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/directory"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/logs"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/log"
)

// attempt returns the attempt whose chunks a bench has.
func attempt() logs.Attempt { return logs.Attempt{Workspace: "w", Fence: 3} }

// bench is a store with chunks.
type bench struct{ *directory.Store }

func newBench(t *testing.T) bench {
	s, err := directory.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return bench{s}
}

// put stores a chunk as the jobs API does.
func (b bench) put(t *testing.T, stream string, number int64, h log.Head, content string) {
	require.NoError(t, h.Check(stream))
	name, err := log.Key(stream, number)
	require.NoError(t, err)
	text, err := h.Encode([]byte(content))
	require.NoError(t, err)
	require.NoError(t, b.Put(t.Context(), blob.Key{Workspace: "w", Fence: 3, Name: name}, bytes.NewReader(text)))
}

// text returns a stream with its holes.
func (b bench) text(t *testing.T, name string) (string, []log.Hole) {
	in, holes, err := logs.Read(t.Context(), b, attempt(), name)
	require.NoError(t, err)
	text, err := io.ReadAll(in)
	require.NoError(t, err)
	return string(text), holes
}

// JOBS.md J11: a log is read in order, and each hole is stated with its size where it is.
func TestRead(t *testing.T) {
	for label, tc := range map[string]struct {
		why    string
		chunks map[int64]log.Head
		want   string
		holes  []log.Hole
	}{
		"None":   {why: "nothing was written"},
		"Whole":  {why: "in order", chunks: map[int64]log.Head{1: {}, 2: {Position: 3, Last: true}}, want: "1.\n2.\n"},
		"Spool":  {why: "the keeper had no room", chunks: map[int64]log.Head{1: {}, 2: {Position: 8, Missing: 5}}, want: "1.\n[5 bytes of this log are missing here]\n2.\n", holes: []log.Hole{{From: 2, To: 1, Bytes: 5}}},
		"Lost":   {why: "chunks are not there", chunks: map[int64]log.Head{1: {}, 4: {Position: 9}}, want: "1.\n[6 bytes of this log are missing here]\n4.\n", holes: []log.Hole{{From: 2, To: 3, Bytes: 6}}},
		"Begin":  {why: "not even the first one", chunks: map[int64]log.Head{2: {Position: 7}}, want: "[7 bytes of this log are missing here]\n2.\n", holes: []log.Hole{{From: 1, To: 1, Bytes: 7}}},
		"Number": {why: "ten comes after nine", chunks: map[int64]log.Head{9: {}, 10: {Position: 3}, 100: {Position: 6, Last: true}}, want: "9.\n10.\n100.\n", holes: []log.Hole{{From: 1, To: 8}, {From: 11, To: 99}}},
	} {
		t.Run(label, func(t *testing.T) {
			b := newBench(t)
			for number, head := range tc.chunks {
				b.put(t, "stdout", number, head, fmt.Sprint(number, ".\n"))
			}
			b.put(t, "stderr", 1, log.Head{}, "problem\n")
			text, holes := b.text(t, "stdout")
			assert.Equal(t, tc.want, text, tc.why)
			assert.Equal(t, tc.holes, holes, tc.why)
		})
	}
	b := newBench(t)
	b.put(t, "stdout", 1, log.Head{}, "no newline")
	b.put(t, "stdout", 2, log.Head{Position: 10, Dropped: 7}, "")
	text, holes := b.text(t, "stdout")
	assert.Equal(t, "no newline\n[7 bytes of this log are missing here]\n", text, "beyond the limit")
	assert.Equal(t, []log.Hole{{From: 2, To: 2, Bytes: 7}}, holes)
}

// JOBS.md J11: files keep their names, whatever they are.
func TestList(t *testing.T) {
	b := newBench(t)
	none, err := logs.List(t.Context(), b, attempt())
	require.NoError(t, err)
	assert.Empty(t, none)
	for _, name := range []string{"app.log", "sub/a b\x1b", "stdout"} {
		b.put(t, log.StreamOf(name), 1, log.Head{File: log.EscapeName(name)}, name)
	}
	b.put(t, "stdout", 1, log.Head{}, "out")
	b.put(t, "stdout", 2, log.Head{Position: 3}, "out")
	names, err := logs.List(t.Context(), b, attempt())
	require.NoError(t, err)
	assert.Equal(t, []string{"/logs/app.log", "/logs/stdout", "/logs/sub/a b\x1b", "stdout"}, names)
	text, _ := b.text(t, "/logs/sub/a b\x1b")
	assert.Equal(t, "sub/a b\x1b", text)
	text, _ = b.text(t, "stdout")
	assert.Equal(t, "outout", text)
	_, _, err = logs.Read(t.Context(), b, attempt(), "app.log")
	require.ErrorContains(t, err, "use stdout, stderr, or the path of a file below /logs/")
}

// A log that goes on is followed: each call has what is new, and the end is known.
func TestFollow(t *testing.T) {
	b := newBench(t)
	r, err := logs.NewReader(b, attempt(), "stdout")
	require.NoError(t, err)
	read := func() (text string) {
		for p, err := range r.Pieces(t.Context()) {
			require.NoError(t, err)
			text += string(p.Content)
		}
		return text
	}
	assert.Empty(t, read())
	b.put(t, "stdout", 1, log.Head{}, "one")
	b.put(t, "stdout", 2, log.Head{Position: 3}, "two")
	for p := range r.Pieces(t.Context()) {
		assert.Equal(t, "one", string(p.Content))
		break
	}
	assert.Equal(t, "two", read(), "what was not read comes again")
	assert.Empty(t, read())
	assert.False(t, r.Ended())
	b.put(t, "stdout", 3, log.Head{Position: 6, Last: true}, "")
	assert.Empty(t, read())
	assert.True(t, r.Ended())
	assert.Empty(t, r.Holes())
}

// What is damaged is never read as something else.
func TestDamaged(t *testing.T) {
	b := newBench(t)
	require.NoError(t, b.Put(t.Context(), blob.Key{Workspace: "w", Fence: 3, Name: "log-stdout-0000000001"}, bytes.NewReader([]byte("x"))))
	_, _, err := logs.Read(t.Context(), b, attempt(), "stdout")
	require.ErrorContains(t, err, "cannot read the log: chunk w/0000000000000000003/log-stdout-0000000001")
	_, err = logs.List(t.Context(), b, attempt())
	require.ErrorContains(t, err, "it was damaged where it is stored")
	r, err := logs.NewReader(b, logs.Attempt{Workspace: "../w", Fence: 3}, "stdout")
	require.NoError(t, err)
	for _, err := range r.Pieces(t.Context()) {
		require.Error(t, err)
	}
}

// failing is a store that cannot give the blobs of a name.
type failing struct {
	bench

	name string
}

// Get implements logs.Store.
func (f failing) Get(ctx context.Context, key blob.Key) (io.ReadCloser, error) {
	if key.Name == f.name {
		return nil, errors.New("the store is away")
	}
	return f.bench.Get(ctx, key)
}

// A store that is away for a moment leaves no hole: what was not read comes with the next call, once.
func TestStoreIsAway(t *testing.T) {
	b := newBench(t)
	for number := int64(1); number <= 4; number++ {
		b.put(t, "stdout", number, log.Head{Position: number - 1, Last: number == 4}, fmt.Sprint(number))
	}
	away := &failing{bench: b, name: "log-stdout-0000000003"}
	r, err := logs.NewReader(away, attempt(), "stdout")
	require.NoError(t, err)
	var text string
	var failed []error
	for range 2 {
		for p, err := range r.Pieces(t.Context()) {
			if text += string(p.Content); err != nil {
				failed = append(failed, err)
			}
		}
		away.name = ""
	}
	assert.Equal(t, "1234", text)
	require.Len(t, failed, 1)
	require.ErrorContains(t, failed[0], "cannot read the log: the store is away")
	assert.Empty(t, r.Holes())
	assert.True(t, r.Ended())
}
