package log_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/log"
)

// chunk returns a chunk whose digest tells its number.
func chunk(number int64, size int) log.Chunk {
	return log.Chunk{Number: number, Digest: fmt.Sprint("d", number), Size: size}
}

// In whichever order chunks come, however often, and whichever are lost: the account is the same, each one is stored
// once, and the holes are exactly what is missing (JOBS.md J11 and J8).
func TestAccountIsOrderFree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		last := int64(rapid.IntRange(1, 12).Draw(t, "last"))
		var arrived []log.Chunk
		missing := map[int64]bool{}
		for n := int64(1); n <= last; n++ {
			times := rapid.IntRange(0, 2).Draw(t, "times")
			missing[n] = times == 0
			for range times {
				arrived = append(arrived, chunk(n, 10))
			}
		}
		var a, b log.Account
		stored := 0
		for _, c := range arrived {
			var fresh bool
			var err error
			a, fresh, err = a.Add(c)
			require.NoError(t, err)
			if fresh {
				stored++
			}
		}
		for _, c := range rapid.Permutation(arrived).Draw(t, "order") {
			b, _, _ = b.Add(c)
		}
		a, b = a.End(last), b.End(last)
		assert.Equal(t, a, b)
		assert.Equal(t, int64(10*stored), a.Bytes())
		holes := 0
		for _, h := range a.Holes() {
			for n := h.From; n <= h.To; n++ {
				assert.True(t, missing[n], "chunk %d", n)
				holes++
			}
		}
		assert.Equal(t, int(last), stored+holes)
		assert.Equal(t, holes == 0, a.Complete())
	})
}

// What is not stored is a hole with its size, and is acknowledged (JOBS.md J11).
func TestLimits(t *testing.T) {
	a := log.Account{Limit: 25}
	for n := range int64(5) {
		var stored bool
		var err error
		a, stored, err = a.Add(chunk(n+1, 10))
		require.NoError(t, err)
		assert.Equal(t, n < 2, stored)
	}
	a, stored, err := a.Add(chunk(6, 5))
	require.NoError(t, err)
	assert.True(t, stored, "a small one fits")
	assert.Equal(t, []log.Hole{{From: 3, To: 5, Bytes: 30}}, a.Holes())
	again, stored, err := a.Add(chunk(3, 10))
	require.NoError(t, err)
	assert.False(t, stored)
	assert.Equal(t, a, again, "JOBS.md J8")
}

// The keeper reports what it dropped.
func TestDropped(t *testing.T) {
	c := chunk(1, 10)
	c.Dropped = 7
	a, stored, err := log.Account{}.Add(c)
	require.NoError(t, err)
	assert.True(t, stored)
	assert.Equal(t, []log.Hole{{From: 1, To: 0, Bytes: 7}}, a.Holes())
	assert.False(t, a.End(1).Complete())
}

// What cannot be right is refused, and changes nothing.
func TestRefusals(t *testing.T) {
	a, _, err := log.Account{}.Add(chunk(2, 10))
	require.NoError(t, err)
	ended := a.End(1)
	for label, c := range map[string]log.Chunk{
		"Zero": chunk(0, 1), "Large": chunk(1, log.MaxChunk+1), "Negative": chunk(1, -1), "NoDigest": {Number: 1}, "Late": chunk(3, 1),
		"Gain": {Number: 1, Digest: "d", Dropped: -1},
	} {
		got, stored, err := ended.Add(c)
		require.Error(t, err, label)
		assert.False(t, stored)
		assert.Equal(t, ended, got)
	}
	_, _, err = a.Add(log.Chunk{Number: 2, Digest: "other"})
	require.ErrorIs(t, err, log.ErrConflict)
	assert.Equal(t, []log.Hole{{From: 1, To: 1}}, ended.Holes(), "the end is not before what is known")
}

// Names sort as numbers do, and lead nowhere else.
func TestKey(t *testing.T) {
	key, err := log.Key("stdout", 12)
	require.NoError(t, err)
	assert.Equal(t, "log-stdout-0000000012", key)
	for _, stream := range []string{"", "..", ".x", "a/b", "A", "a b", "ä"} {
		_, err := log.Key(stream, 1)
		require.Error(t, err, stream)
	}
	for _, number := range []int64{0, -1, 1e10} {
		_, err := log.Key("stdout", number)
		require.Error(t, err)
	}
	for _, key := range []string{"", "log-", "stdout-0000000012", "log-stdout-12", "log-stdout-+000000012", "log-stdout-00000000012", "log-x/y-0000000001", "log--0000000001"} {
		_, _, err := log.ParseKey(key)
		require.Error(t, err, key)
	}
}

// What is read was written so.
func FuzzParseKey(f *testing.F) {
	f.Add("log-stdout-0000000012")
	f.Add("log-..-0000000001")
	f.Fuzz(func(t *testing.T, text string) {
		stream, number, err := log.ParseKey(text)
		if err != nil {
			return
		}
		key, err := log.Key(stream, number)
		require.NoError(t, err)
		assert.Equal(t, text, key)
	})
}
