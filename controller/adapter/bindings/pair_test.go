package bindings_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/bindings"
)

func TestPair(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory")
	pair := bindings.NewPair(path)
	content, err := pair.Read()
	require.NoError(t, err, "no file is no error")
	assert.Nil(t, content)
	assert.False(t, pair.Exists())
	for _, text := range []string{"first", "a longer second", "3", ""} {
		require.NoError(t, pair.Replace([]byte(text)))
		for _, reader := range []*bindings.Pair{pair, bindings.NewPair(path)} {
			content, err := reader.Read()
			require.NoError(t, err)
			assert.Equal(t, text, string(content))
			assert.True(t, reader.Exists())
		}
	}
	assert.Error(t, bindings.NewPair(filepath.Join(t.TempDir(), "gone", "memory")).Replace(nil))
}

// Property: whatever a killed writer or a lost disk made of the file that was
// being written, what was there before is read, and writing goes on.
func TestPairSurvivesATornWrite(t *testing.T) {
	dir, round := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		path := filepath.Join(dir, strings.Repeat("m", 1+round%50), "memory")
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		writes := rapid.SliceOfN(rapid.SliceOf(rapid.Byte()), 2, 6).Draw(t, "writes")
		for _, content := range writes {
			require.NoError(t, bindings.NewPair(path).Replace(content))
		}
		newest := newestFile(t, path)
		whole, err := os.ReadFile(newest)
		require.NoError(t, err)
		torn := append([]byte(nil), whole...)
		at := rapid.IntRange(0, 16+len(writes[len(writes)-1])-1).Draw(t, "at")
		torn[at] ^= rapid.ByteRange(1, 255).Draw(t, "flip")
		if rapid.Bool().Draw(t, "cut") {
			torn = torn[:at]
		}
		require.NoError(t, os.WriteFile(newest, torn, 0o600))

		content, err := bindings.NewPair(path).Read()
		require.NoError(t, err)
		require.Equal(t, string(writes[len(writes)-2]), string(content))
		require.NoError(t, bindings.NewPair(path).Replace([]byte("next")))
		content, err = bindings.NewPair(path).Read()
		require.NoError(t, err)
		require.Equal(t, "next", string(content))
		require.NoError(t, os.RemoveAll(filepath.Dir(path)))
	})
}

// newestFile returns the file that was written last: the one whose loss changes
// what is read.
func newestFile(t require.TestingT, path string) string {
	before, err := bindings.NewPair(path).Read()
	require.NoError(t, err)
	for _, file := range []string{path + ".0", path + ".1"} {
		require.NoError(t, os.Rename(file, file+".away"))
		content, err := bindings.NewPair(path).Read()
		require.NoError(t, err)
		require.NoError(t, os.Rename(file+".away", file))
		if string(content) != string(before) {
			return file
		}
	}
	// The last two writes were equal: the higher number is the newest.
	zero, err := os.ReadFile(path + ".0")
	require.NoError(t, err)
	one, err := os.ReadFile(path + ".1")
	require.NoError(t, err)
	if zero[0] > one[0] {
		return path + ".0"
	}
	return path + ".1"
}

// FuzzPair: no bytes in the files stop a reader.
func FuzzPair(f *testing.F) {
	path := filepath.Join(f.TempDir(), "memory")
	require.NoError(f, bindings.NewPair(path).Replace([]byte("x")))
	whole, err := os.ReadFile(path + ".0")
	require.NoError(f, err)
	f.Add(whole, whole)
	f.Add([]byte(nil), []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, zero, one []byte) {
		path := filepath.Join(t.TempDir(), "memory")
		require.NoError(t, os.WriteFile(path+".0", zero, 0o600))
		require.NoError(t, os.WriteFile(path+".1", one, 0o600))
		_, _ = bindings.NewPair(path).Read()
		pair := bindings.NewPair(path)
		require.NoError(t, pair.Replace([]byte("next")))
		content, err := bindings.NewPair(path).Read()
		require.NoError(t, err)
		require.Equal(t, "next", string(content))
	})
}
