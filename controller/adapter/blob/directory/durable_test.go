package directory

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
)

// Each folder above a blob is made durable once, and again after it was removed; few are remembered.
func TestDurable(t *testing.T) {
	s, err := Open(t.TempDir())
	require.NoError(t, err)
	defer s.Close()
	key := blob.Key{Workspace: "w", Fence: 1, Name: "a"}
	put := func(key blob.Key) { require.NoError(t, s.Put(t.Context(), key, strings.NewReader("x"))) }
	durable := func() []string { return slices.Sorted(maps.Keys(s.durable)) }
	const workspace, first, second = "w", "w/0000000000000000001", "w/0000000000000000002"
	put(key)
	assert.Equal(t, []string{workspace, first}, durable())
	put(key)
	other, later := key, key
	other.Name, later.Fence = "b", 2
	put(other)
	assert.Equal(t, []string{workspace, first}, durable())
	put(later)
	assert.Equal(t, []string{workspace, first, second}, durable())
	require.NoError(t, s.Delete(t.Context(), other))
	assert.Equal(t, []string{workspace, first, second}, durable(), "its folder is still there")
	require.NoError(t, s.Delete(t.Context(), key))
	assert.Equal(t, []string{workspace, second}, durable())
	require.NoError(t, s.Delete(t.Context(), later))
	assert.Empty(t, durable())
	for i := range maxDurable {
		s.durable[fmt.Sprint(i)] = true
	}
	put(key)
	assert.Len(t, s.durable, 2)
}
