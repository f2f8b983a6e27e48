package blob_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
)

func TestKeyCheck(t *testing.T) {
	good := blob.Key{Workspace: "4f0c-1", Fence: 12, Name: "state.tar.zst"}
	require.NoError(t, good.Check())
	assert.Equal(t, "4f0c-1/0000000000000000012/state.tar.zst", good.String())
	last := blob.Key{Workspace: "a", Fence: math.MaxInt64, Name: "b"}
	again, err := blob.ParseKey(last.String())
	require.NoError(t, err)
	assert.Equal(t, last, again)
	tests := map[string]struct {
		why string
		key blob.Key
	}{
		"NoWorkspace": {why: "another's folder", key: blob.Key{Fence: 1, Name: "a"}},
		"NoName":      {why: "a folder", key: blob.Key{Workspace: "a", Fence: 1}},
		"Up":          {why: "another's folder", key: blob.Key{Workspace: "..", Fence: 1, Name: "a"}},
		"Slash":       {why: "another's folder", key: blob.Key{Workspace: "a", Fence: 1, Name: "../a"}},
		"Hidden":      {why: "the store's own files", key: blob.Key{Workspace: ".lock", Fence: 1, Name: "a"}},
		"Upper":       {why: "some file systems do not tell them apart", key: blob.Key{Workspace: "A", Fence: 1, Name: "a"}},
		"Long":        {why: "no file system has it", key: blob.Key{Workspace: "a", Fence: 1, Name: strings.Repeat("a", 129)}},
		"Fence":       {why: "fences begin with 1", key: blob.Key{Workspace: "a", Name: "a"}},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) { assert.Error(t, tc.key.Check(), tc.why) })
	}
}

// FuzzParseKey takes any text: a key that is read is written as it was.
func FuzzParseKey(f *testing.F) {
	f.Add("a/0000000000000000001/b")
	f.Add("a/1/b")
	f.Add("a/+000000000000000001/b")
	f.Add("../9999999999999999999/b")
	f.Fuzz(func(t *testing.T, text string) {
		key, err := blob.ParseKey(text)
		if err == nil {
			require.Equal(t, text, key.String())
			require.NoError(t, key.Check())
		}
	})
}

func TestEqual(t *testing.T) {
	large := bytes.Repeat([]byte("x"), 200<<10)
	other := bytes.Clone(large)
	other[150<<10] = 'y'
	tests := map[string]struct {
		why  string
		a, b []byte
		want bool
	}{
		"Same":   {why: "several blocks", a: large, b: bytes.Clone(large), want: true},
		"Other":  {why: "one byte of the third block", a: large, b: other},
		"Longer": {why: "one is a beginning of the other", a: large, b: large[:128<<10]},
		"Empty":  {why: "nothing is nothing", want: true},
		"None":   {why: "nothing is not something", b: []byte("x")},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			same, err := blob.Equal(bytes.NewReader(tc.a), iotest.HalfReader(bytes.NewReader(tc.b)))
			require.NoError(t, err)
			assert.Equal(t, tc.want, same, tc.why)
		})
	}
	broken := errors.New("broken")
	_, err := blob.Equal(iotest.ErrReader(broken), strings.NewReader("x"))
	require.ErrorIs(t, err, broken)
	err = blob.Settle(blob.Key{}, strings.NewReader("x"), io.MultiReader(strings.NewReader("x"), iotest.ErrReader(broken)))
	require.ErrorIs(t, err, broken, "unread is not equal")
}
