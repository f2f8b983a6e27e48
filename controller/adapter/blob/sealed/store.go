package sealed

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"filippo.io/age"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
)

// Store is a store that encrypts some of its blobs. Sizes that it lists are those of the encrypted ones.
type Store struct {
	blob.Store

	// Keys is the source of keys. It is read for each blob, so that they may be replaced at any time.
	Keys Source
	// Exempt reports that blobs of a workspace are stored in plain; nil for none.
	Exempt func(ctx context.Context, workspace string) bool
	// Prefixes begin the names of blobs that are encrypted.
	Prefixes []string
	// Folder is where an encrypted blob is kept until it is stored; "" for that of the system.
	Folder string

	// used are the names of keys that are noted in the store.
	used sync.Map
}

// Check returns why no blob can be encrypted; nil if one can be.
func (s *Store) Check(ctx context.Context) error {
	k, err := readKeys(ctx, s.Keys)
	if err != nil {
		return fmt.Errorf("%w%s", err, s.missing(ctx, k))
	}
	return nil
}

// Prefixes returns those of the blobs that may have secrets in them: states, which checkpoints and orphans are too, and
// plans.
func Prefixes() []string { return []string{"state-", "plan-"} }

// encrypts reports whether a blob is of those that are encrypted.
func (s *Store) encrypts(key blob.Key) bool {
	return slices.ContainsFunc(s.Prefixes, func(prefix string) bool { return strings.HasPrefix(key.Name, prefix) })
}

// Put implements blob.Store. The same content is encrypted in another way each time, so what is stored is compared as
// it is decrypted.
func (s *Store) Put(ctx context.Context, key blob.Key, content io.ReadSeeker) error {
	if !s.encrypts(key) || s.Exempt != nil && s.Exempt(ctx, key.Workspace) {
		return s.putPlain(ctx, key, content)
	}
	file, err := os.CreateTemp(s.Folder, "orcon-sealed-")
	if err != nil {
		return fmt.Errorf("cannot encrypt blob %s: %w", key, err)
	}
	defer os.Remove(file.Name()) //nolint:errcheck // the folder is a temporary one
	defer file.Close()           //nolint:errcheck // the store has its own copy
	if err := s.seal(ctx, file, content); err != nil {
		return fmt.Errorf("cannot encrypt blob %s: %w", key, err)
	}
	err = s.Store.Put(ctx, key, file)
	if errors.Is(err, blob.ErrConflict) {
		return s.settle(ctx, key, content)
	}
	return err
}

// putPlain stores a content as it is. It may be there already in another form, since it was encrypted before.
func (s *Store) putPlain(ctx context.Context, key blob.Key, content io.ReadSeeker) error {
	err := s.Store.Put(ctx, key, content)
	if errors.Is(err, blob.ErrConflict) {
		return s.settle(ctx, key, content)
	}
	return err
}

// seal encrypts a content, after the key is noted in the store.
func (s *Store) seal(ctx context.Context, out io.Writer, content io.ReadSeeker) error {
	k, err := readKeys(ctx, s.Keys)
	if err != nil {
		return fmt.Errorf("%w%s", err, s.missing(ctx, k))
	}
	if err := s.note(ctx, k.names[0]); err != nil {
		return err
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return err
	}
	in, err := age.Encrypt(out, k.to)
	if err != nil {
		return err
	}
	_, err = io.Copy(in, content)
	return errors.Join(err, in.Close())
}

// settle answers for a key that is taken.
func (s *Store) settle(ctx context.Context, key blob.Key, content io.ReadSeeker) error {
	stored, err := s.Get(ctx, key)
	if err != nil {
		return err
	}
	defer stored.Close() //nolint:errcheck // it is only read
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("cannot compare blob %s with what is stored: %w", key, err)
	}
	return blob.Settle(key, stored, content)
}

// magic begins what is encrypted. No archive of a state begins so.
const magic = "age-encryption.org/"

// Get implements blob.Store. It returns blob.ErrLocked if no key opens the blob.
func (s *Store) Get(ctx context.Context, key blob.Key) (io.ReadCloser, error) {
	stored, err := s.Store.Get(ctx, key)
	if err != nil || !s.encrypts(key) { // what is never encrypted may begin as it wishes
		return stored, err
	}
	content, err := s.open(ctx, bufio.NewReader(stored))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot decrypt blob %s: %w", key, err), stored.Close())
	}
	return opened{content, stored}, nil
}

// open returns the plain content of a stored blob.
func (s *Store) open(ctx context.Context, stored *bufio.Reader) (io.Reader, error) {
	begin, err := stored.Peek(len(magic))
	if string(begin) != magic {
		if errors.Is(err, io.EOF) {
			err = nil // it is short
		}
		return stored, err
	}
	k, err := readKeys(ctx, s.Keys)
	if err != nil {
		return nil, fmt.Errorf("%w: %w%s", blob.ErrLocked, err, s.missing(ctx, k))
	}
	content, err := age.Decrypt(stored, k.all...)
	if _, locked := errors.AsType[*age.NoIdentityMatchError](err); locked {
		return nil, fmt.Errorf("%w: it was encrypted to another key than the %d of %s: add its key there, below the first one%s",
			blob.ErrLocked, len(k.all), s.Keys, s.missing(ctx, k))
	}
	return content, err
}

// opened is a content with the blob that it is read from.
type opened struct {
	io.Reader
	io.Closer
}
