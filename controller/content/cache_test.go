package content

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// TestCacheIsBounded puts more content into a cache than it may keep: what was used longest ago goes, and
// a file that is open stays readable (TRUST.md U7).
func TestCacheIsBounded(t *testing.T) {
	c := Cache{Folder: t.TempDir(), limit: 40 << 10}
	source := func(n int) Source {
		return Source{Reference: bundle.Reference{Origin: bundle.HTTP, Location: fmt.Sprint("https://example.org/", n)}}
	}
	put := func(n, size int) {
		var tree bundle.Tree
		require.NoError(t, tree.Add("a", bundle.File{Content: []byte(strings.Repeat("x", size))}))
		require.NoError(t, c.put(source(n), tree))
		files, err := filepath.Glob(filepath.Join(c.Folder, key(source(n))+"*"))
		require.NoError(t, err)
		for _, file := range files { // the clock of files may be coarse
			require.NoError(t, os.Chtimes(file, time.Time{}, time.Now().Add(time.Duration(n-100)*time.Hour)))
		}
	}
	for n := range 3 {
		put(n, 10<<10)
	}
	opened, found := c.open(source(0)) // it was used last by now
	require.True(t, found)
	defer opened.file.Close()
	put(3, 10<<10)
	for n, want := range []bool{true, false, true, true} {
		_, found := c.get(source(n))
		assert.Equal(t, want, found, n)
	}
	put(4, 30<<10)
	_, found = c.get(source(4))
	assert.True(t, found, "what was put last stays")
	put(5, 50<<10)
	_, found = c.get(source(5))
	assert.False(t, found, "it is larger than the cache")
	part := make([]byte, 1)
	_, err := opened.file.Read(part)
	require.NoError(t, err)

	left, err := c.create()
	require.NoError(t, err)
	require.NoError(t, left.file.Close())
	require.NoError(t, c.Sweep())
	_, err = os.Stat(left.file.Name())
	require.ErrorIs(t, err, os.ErrNotExist)
}
