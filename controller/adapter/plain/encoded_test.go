package plain_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/plain"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Objects are read as they were written.
func TestEncode(t *testing.T) {
	var tree bundle.Tree
	text := "apiVersion: v1\nkind: X\nmetadata: {name: a}\nint: 9007199254740993\nfloat: 1.5\nbig: 1e30\nnone: null\nlist: [1, [true, {}], \"1\"]\n"
	require.NoError(t, tree.Add("a.yaml", bundle.File{Content: []byte(text)}))
	objects, err := plain.Read(&tree)
	require.NoError(t, err)
	written, err := plain.Encode(objects)
	require.NoError(t, err)
	again, err := plain.Decode(written)
	require.NoError(t, err)
	assert.Equal(t, objects, again)
	for _, wrong := range []string{"", "{}", "[1]"} {
		_, err = plain.Decode([]byte(wrong))
		assert.Error(t, err, wrong)
	}
}

// What would fill the controller's memory is refused where it is rendered (TRUST.md U6).
func TestEncodeIsBounded(t *testing.T) {
	many := make([]any, plain.MaxValues)
	for label, o := range map[string]bundle.Object{"values, more than": {"many": many}, "more than 8 MiB": {"text": strings.Repeat("x", plain.MaxRendered)}} {
		_, err := plain.Encode([]bundle.Object{o})
		require.ErrorIs(t, err, bundle.ErrLimit)
		assert.ErrorContains(t, err, label)
	}
}
