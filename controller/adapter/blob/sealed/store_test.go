package sealed_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/blobtest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/directory"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/sealed"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/contents"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// key returns a new key as a line of a file.
func key(t *testing.T) string {
	k, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	return k.String() + "\n"
}

// with writes a file of keys.
func with(t *testing.T, keys ...string) string {
	file := filepath.Join(t.TempDir(), "keys")
	require.NoError(t, os.WriteFile(file, []byte("# written by age-keygen\n\n"+strings.Join(keys, "")), 0o600))
	return file
}

// newStore returns a store that encrypts by a file of keys, and the one below it.
func newStore(t *testing.T, keys string) (*sealed.Store, blob.Store) {
	below, err := directory.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { below.Close() })
	return &sealed.Store{Store: below, Keys: sealed.File(keys), Prefixes: sealed.Prefixes(), Folder: t.TempDir()}, below
}

// A store that encrypts is a store.
func TestContents(t *testing.T) {
	blobtest.Contents(t, func(t *testing.T) blob.Store {
		s, _ := newStore(t, with(t, key(t)))
		s.Prefixes = []string{""}
		return s
	})
}

// named returns the key of a blob.
func named(name string) blob.Key { return blob.Key{Workspace: "w", Fence: 1, Name: name} }

// JOBS.md J16: the content of a template is stored in plain, and read as it is: its first file may have any name.
func TestPlainLooksEncrypted(t *testing.T) {
	s, _ := newStore(t, with(t, key(t)))
	var tree bundle.Tree
	require.NoError(t, tree.Add("age-encryption.org/v1", bundle.File{Content: []byte("x")}))
	digest, err := contents.Put(t.Context(), s, "shop", &tree)
	require.NoError(t, err)
	got, err := contents.Get(t.Context(), s, "shop", digest)
	require.NoError(t, err)
	assert.Equal(t, tree, got)
}

// JOBS.md J14: no secret of a state is in the store, and what decides about holds needs no key.
func TestEncrypts(t *testing.T) {
	s, below := newStore(t, with(t, key(t)))
	state, record := named("state-1"), named("claimant")
	secret := strings.Repeat("secret", 50_000)
	for _, k := range []blob.Key{state, record} {
		require.NoError(t, s.Put(t.Context(), k, strings.NewReader(secret)))
		assert.Equal(t, secret, blobtest.Read(t, s, k))
	}
	assert.NotContains(t, blobtest.Read(t, below, state), "secret")
	assert.Equal(t, secret, blobtest.Read(t, below, record))
	left, err := os.ReadDir(s.Folder)
	require.NoError(t, err)
	assert.Empty(t, left)
	s.Keys = sealed.File("/none")
	assert.Equal(t, secret, blobtest.Read(t, s, record))
}

// JOBS.md J14: a new key encrypts what is new; what old ones encrypted, and what nothing did, stays readable.
func TestRotation(t *testing.T) {
	first, second := key(t), key(t)
	s, below := newStore(t, with(t, first))
	plain, old, state := named("state-plain"), named("state-old"), named("plan-new")
	require.NoError(t, below.Put(t.Context(), plain, strings.NewReader("plain")))
	require.NoError(t, s.Put(t.Context(), old, strings.NewReader("old")))
	s.Keys = sealed.File(with(t, second, first))
	require.NoError(t, s.Put(t.Context(), state, strings.NewReader("new")))
	require.NoError(t, s.Put(t.Context(), old, strings.NewReader("old")), "an upload is repeated after the change")
	require.ErrorIs(t, s.Put(t.Context(), old, strings.NewReader("other")), blob.ErrConflict)
	for k, want := range map[blob.Key]string{plain: "plain", old: "old", state: "new"} {
		assert.Equal(t, want, blobtest.Read(t, s, k))
	}
	s.Keys = sealed.File(with(t, second))
	assert.Equal(t, "new", blobtest.Read(t, s, state), "the first key encrypted it")
	_, err := s.Get(t.Context(), old)
	require.ErrorIs(t, err, blob.ErrLocked)
}

// JOBS.md J14: without the right key nothing is lost, and the error says what to do, without a key in it.
func TestWithoutKey(t *testing.T) {
	right := key(t)
	s, below := newStore(t, with(t, right))
	state, another := named("state-1"), named("state-2")
	require.NoError(t, s.Put(t.Context(), state, strings.NewReader("content")))
	stored := blobtest.Read(t, below, state)
	damaged := "AGE-SECRET-KEY-1QQQQ\n"
	for label, tc := range map[string]struct {
		keys  string
		says  string
		write bool
	}{
		"Wrong":   {keys: with(t, key(t), key(t)), says: "it was encrypted to another key than the 2 of ", write: true},
		"Missing": {keys: "/none/keys", says: "open /none/keys: no such file or directory: write one with age-keygen"},
		"Empty":   {keys: with(t), says: "no identities found: write one AGE-SECRET-KEY-… a line"},
		"Damaged": {keys: with(t, right, damaged), says: "line 4: "},
		"Other":   {keys: with(t, "ssh-ed25519 AAAA\n"), says: "line 3: unknown identity type"},
	} {
		t.Run(label, func(t *testing.T) {
			s.Keys = sealed.File(tc.keys)
			_, err := s.Get(t.Context(), state)
			require.ErrorIs(t, err, blob.ErrLocked)
			require.ErrorContains(t, err, tc.says)
			assert.NotContains(t, err.Error(), strings.TrimSpace(right))
			assert.NotContains(t, err.Error(), strings.TrimSpace(damaged))
			assert.Equal(t, stored, blobtest.Read(t, below, state))
			assert.Equal(t, tc.write, s.Check(t.Context()) == nil)
			if !tc.write {
				require.Error(t, s.Put(t.Context(), another, strings.NewReader("x")), "it is never stored in plain")
				_, err := below.Get(t.Context(), another)
				require.ErrorIs(t, err, blob.ErrNotFound)
			}
		})
	}
	s.Keys = sealed.File(with(t, key(t), right))
	assert.Equal(t, "content", blobtest.Read(t, s, state), "the key is added, and all is there")
}

// What was changed or cut off in the store is an error, at any byte.
func TestDamaged(t *testing.T) {
	s, below := newStore(t, with(t, key(t)))
	state := named("state-1")
	require.NoError(t, s.Put(t.Context(), state, strings.NewReader("some content")))
	stored := []byte(blobtest.Read(t, below, state))
	read := func(text []byte) (string, error) {
		require.NoError(t, below.Delete(t.Context(), state))
		require.NoError(t, below.Put(t.Context(), state, bytes.NewReader(text)))
		in, err := s.Get(t.Context(), state)
		if err != nil {
			return "", err
		}
		got, err := io.ReadAll(in)
		return string(got), errors.Join(err, in.Close())
	}
	for at := len("age-encryption.org/"); at < len(stored); at += 7 {
		changed := bytes.Clone(stored)
		changed[at] ^= 1
		_, err := read(changed)
		require.Error(t, err, "byte %d", at)
		_, err = read(stored[:at])
		require.Error(t, err, "cut off at %d", at)
	}
	got, err := read(stored)
	require.NoError(t, err)
	assert.Equal(t, "some content", got)
}

// JOBS.md J14: a key for the time after quantum computers is one too.
func TestHybrid(t *testing.T) {
	k, err := age.GenerateHybridIdentity()
	require.NoError(t, err)
	s, _ := newStore(t, with(t, k.String()+"\n"))
	state := named("state-1")
	require.NoError(t, s.Put(t.Context(), state, strings.NewReader("content")))
	assert.Equal(t, "content", blobtest.Read(t, s, state))
}

// What cannot be read or written is an error, and leaves nothing in the folder.
func TestFailures(t *testing.T) {
	s, below := newStore(t, with(t, key(t)))
	content := failing{strings.NewReader("")}
	require.ErrorContains(t, s.Put(t.Context(), named("state-1"), content), "cannot encrypt blob w/0000000000000000001/state-1: the disk is gone")
	left, err := os.ReadDir(s.Folder)
	require.NoError(t, err)
	assert.Empty(t, left)
	s.Folder = "/none"
	require.ErrorContains(t, s.Put(t.Context(), named("state-1"), strings.NewReader("x")), "cannot encrypt blob")
	_, err = below.Get(t.Context(), named("state-1"))
	require.ErrorIs(t, err, blob.ErrNotFound)
}

// failing is a content that cannot be read.
type failing struct{ *strings.Reader }

// Read implements io.Reader.
func (failing) Read([]byte) (int, error) { return 0, errors.New("the disk is gone") }

// WriteTo implements io.WriterTo.
func (failing) WriteTo(io.Writer) (int64, error) { return 0, errors.New("the disk is gone") }

// JOBS.md J14: a key that is lost has a name in the message, though no key is in the store.
func TestLostKey(t *testing.T) {
	first, second := key(t), key(t)
	s, below := newStore(t, with(t, first))
	state := named("state-1")
	require.NoError(t, s.Put(t.Context(), state, strings.NewReader("content")))
	used, err := sealed.Used(t.Context(), below)
	require.NoError(t, err)
	k, err := age.ParseX25519Identity(strings.TrimSpace(first))
	require.NoError(t, err)
	assert.Equal(t, []string{k.Recipient().String()}, used)
	for _, keys := range []string{with(t, second), "/none/keys"} {
		s.Keys = sealed.File(keys)
		_, err = s.Get(t.Context(), state)
		require.ErrorIs(t, err, blob.ErrLocked)
		assert.ErrorContains(t, err, ": keys that were used and are missing: "+used[0])
	}
	require.ErrorContains(t, s.Check(t.Context()), used[0])
	require.NoError(t, below.Delete(t.Context(), blob.Key{Workspace: blob.Own, Fence: 1, Name: used[0]}))
	_, err = s.Get(t.Context(), state)
	require.ErrorIs(t, err, blob.ErrLocked)
	assert.NotContains(t, err.Error(), "missing")
}

// JOBS.md J14: a Workspace that is exempt is stored in plain; what was encrypted before stays readable, and an upload that is
// repeated after the change succeeds.
func TestExempt(t *testing.T) {
	s, below := newStore(t, with(t, key(t)))
	before, after := named("state-1"), named("state-2")
	require.NoError(t, s.Put(t.Context(), before, strings.NewReader("before")))
	s.Exempt = func(_ context.Context, workspace string) bool { return workspace == before.Workspace }
	require.NoError(t, s.Put(t.Context(), before, strings.NewReader("before")))
	require.ErrorIs(t, s.Put(t.Context(), before, strings.NewReader("other")), blob.ErrConflict)
	require.NoError(t, s.Put(t.Context(), after, strings.NewReader("after")))
	assert.Equal(t, "before", blobtest.Read(t, s, before))
	assert.Equal(t, "after", blobtest.Read(t, below, after))
	other := blob.Key{Workspace: "other", Fence: 1, Name: "state-1"}
	require.NoError(t, s.Put(t.Context(), other, strings.NewReader("other")))
	assert.NotContains(t, blobtest.Read(t, below, other), "other")
}

// A key that is made is one that can be used.
func TestGenerate(t *testing.T) {
	text, err := sealed.Generate()
	require.NoError(t, err)
	s, _ := newStore(t, with(t, text))
	require.NoError(t, s.Check(t.Context()))
}
