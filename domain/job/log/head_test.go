package log_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/log"
)

// JOBS.md J11: a file may have any name, which is kept as it is, and leads nowhere.
func TestNames(t *testing.T) {
	for name, why := range map[string]string{
		"": "empty", ".": "the folder", "..": "out", "../x": "out", "/x": "absolute", "a/../b": "not the shortest", "a//b": "not the shortest",
		"a/": "a folder", "a\x00b": "a zero byte", strings.Repeat("x", 1025): "too long", "a/..": "out",
	} {
		assert.Error(t, log.CheckName(name), why)
		_, err := log.UnescapeName(log.EscapeName(name))
		assert.Error(t, err, why)
	}
	for _, name := range []string{"app.log", "a b", "..x", "dir/Ünï", "new\nline", "esc\x1b[31m", "\xff\xfe", "100%25", "file-1", "stdout"} {
		require.NoError(t, log.CheckName(name))
		text := log.EscapeName(name)
		assert.NotContains(t, text, "\n")
		assert.NotContains(t, text, " ")
		read, err := log.UnescapeName(text)
		require.NoError(t, err)
		assert.Equal(t, name, read)
		_, err = log.Key(log.StreamOf(name), 1)
		require.NoError(t, err, "its stream is one")
		h := log.Head{File: text}
		require.NoError(t, h.Check(log.StreamOf(name)))
		require.ErrorContains(t, h.Check(log.StreamOf(name+"x")), "its stream is")
	}
	require.Error(t, log.Head{}.Check(log.StreamOf("x")), "the name is missing")
	require.NoError(t, log.Head{Position: 5, Missing: 5}.Check("stdout"))
	require.Error(t, log.Head{Position: 5, Missing: 6}.Check("stdout"))
	require.Error(t, log.Head{Position: -1}.Check("stdout"))
}

// Only one text is the escaped form of a name.
func TestUnescapeName(t *testing.T) {
	for _, text := range []string{"%", "%2", "%2g", "%41", "a b", "a%2fb", "%2F", "ä", "a%"} {
		_, err := log.UnescapeName(text)
		assert.Error(t, err, text)
	}
}

// A person names a stream by its path.
func TestParseStream(t *testing.T) {
	for text, want := range map[string]string{"stdout": "stdout", "stderr": "stderr", "/logs/a/b.log": log.StreamOf("a/b.log")} {
		got, err := log.ParseStream(text)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for _, text := range []string{"", "stdou", "logs/x", "/logs/", "/logs/../x", "file-0123"} {
		_, err := log.ParseStream(text)
		assert.Error(t, err, text)
	}
}

// JOBS.md J11: whichever chunks are lost, a reader finds each byte once, in order, and the holes with their sizes.
func TestProgress(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r log.Progress
		position, read, missing, lost := int64(0), int64(0), int64(0), int64(0)
		n := int64(rapid.IntRange(1, 20).Draw(t, "chunks"))
		for number := int64(1); number <= n; number++ {
			h := log.Head{Missing: int64(rapid.IntRange(0, 3).Draw(t, "missing")), Last: number == n}
			size := rapid.IntRange(0, 9).Draw(t, "size")
			position += h.Missing
			h.Position = position
			position += int64(size)
			lost += h.Missing
			content := size
			switch rapid.IntRange(0, 4).Draw(t, "fate") {
			case 0:
				if number < n {
					lost += int64(size)
					continue
				}
			case 1:
				h.Dropped, content = size, 0
				lost += int64(size)
			}
			for again := range rapid.IntRange(1, 2).Draw(t, "times") {
				next, gap, known := r.Add(number, h, content)
				require.Equal(t, again > 0, known)
				if r = next; !known {
					missing, read = missing+gap, read+int64(content)
				}
			}
		}
		require.True(t, r.Ended())
		require.Equal(t, position, read+missing)
		require.Equal(t, lost, missing)
		var holes int64
		last := int64(0)
		for _, h := range r.Holes() {
			holes += h.Bytes
			require.GreaterOrEqual(t, h.From, last)
			last = h.From
		}
		require.Equal(t, lost, holes)
		require.Equal(t, n+1, r.Next())
	})
	var r log.Progress
	assert.Equal(t, int64(1), r.Next())
	r, _, _ = r.Add(1, log.Head{}, 5)
	assert.False(t, r.Complete(), "more may come")
	after, _, _ := r.Add(3, log.Head{Position: 9, Last: true}, 1)
	assert.Equal(t, []log.Hole{{From: 2, To: 2, Bytes: 4}}, after.Holes())
	assert.False(t, after.Complete())
	r, _, _ = r.Add(2, log.Head{Position: 5, Last: true}, 0)
	assert.True(t, r.Complete())
}

// FuzzDecode takes any bytes: a chunk that is read is written with the same head and content.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"{\"position\":1,\"missing\":0}\nhello", "", "{}", "{}\n", "{\"file\":\"%2e\"}\nx", "{\"file\":\"a%20b\",\"last\":true}\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stored []byte) {
		h, content, err := log.Decode(stored)
		if err != nil {
			return
		}
		text, err := h.Encode(content)
		require.NoError(t, err)
		again, same, err := log.Decode(text)
		require.NoError(t, err)
		assert.Equal(t, h, again)
		assert.Equal(t, string(content), string(same))
	})
}
