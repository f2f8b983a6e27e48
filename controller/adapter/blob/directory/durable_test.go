package directory

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
)

// The folders above a blob are made durable once, and again after they were removed; few are remembered.
func TestDurable(t *testing.T) {
	s, err := Open(t.TempDir())
	require.NoError(t, err)
	defer s.Close()
	key := blob.Key{Workspace: "w", Fence: 1, Name: "a"}
	put := func(key blob.Key) { require.NoError(t, s.Put(t.Context(), key, strings.NewReader("x"))) }
	put(key)
	assert.Len(t, s.durable, 1)
	put(key)
	other := key
	other.Name = "b"
	put(other)
	assert.Len(t, s.durable, 1)
	require.NoError(t, s.Delete(t.Context(), other))
	assert.Len(t, s.durable, 1, "its folder is still there")
	require.NoError(t, s.Delete(t.Context(), key))
	assert.Empty(t, s.durable)
	for i := range maxDurable {
		s.durable[fmt.Sprint(i)] = true
	}
	put(key)
	assert.Len(t, s.durable, 1)
}
