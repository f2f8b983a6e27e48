package contents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

const (
	// prefix begins the names below which the store has contents of a namespace, where others have the UID of a Workspace.
	prefix = "content-"
	// algorithm begins a digest.
	algorithm = "sha256:"
)

// ErrMissing is wrapped where the store does not have a content.
var ErrMissing = errors.New("the content is not stored")

// Place returns where the contents of a namespace lie.
func Place(namespace string) string { return prefix + namespace }

// Namespace returns the namespace whose contents lie at a place; false for a place of something else.
func Namespace(place string) (string, bool) { return strings.CutPrefix(place, prefix) }

// Key returns the key of a content.
func Key(namespace, digest string) blob.Key {
	return blob.Key{Workspace: Place(namespace), Fence: 1, Name: strings.TrimPrefix(digest, algorithm)}
}

// Put stores a content, and returns its digest. One that is stored already counts as stored now: what names it comes later.
func Put(ctx context.Context, store blob.Store, namespace string, tree *bundle.Tree) (digest string, err error) {
	digest = tree.Digest()
	var packed bytes.Buffer
	if err = archive.Pack(&packed, tree); err == nil {
		err = store.Put(ctx, Key(namespace, digest), bytes.NewReader(packed.Bytes()))
	}
	if err == nil || errors.Is(err, blob.ErrConflict) { // another version may have packed it otherwise
		err = store.Refresh(ctx, Key(namespace, digest))
	}
	if err != nil {
		return "", fmt.Errorf("cannot store content %s: %w", digest, err)
	}
	return digest, nil
}

// Get returns a content that is stored. One that is not is ErrMissing.
func Get(ctx context.Context, store blob.Store, namespace, digest string) (bundle.Tree, error) {
	in, err := store.Get(ctx, Key(namespace, digest))
	if errors.Is(err, blob.ErrNotFound) {
		return bundle.Tree{}, fmt.Errorf("cannot read content %s of namespace %s: %w", digest, namespace, ErrMissing)
	}
	if err != nil {
		return bundle.Tree{}, fmt.Errorf("cannot read content %s of namespace %s: %w", digest, namespace, err)
	}
	defer in.Close() //nolint:errcheck // it is only read
	var tree bundle.Tree
	err = archive.Untar(in, tree.Add)
	if found := tree.Digest(); err == nil && found != digest {
		err = fmt.Errorf("the store has content %s in its place", found)
	}
	if err != nil {
		return bundle.Tree{}, fmt.Errorf("cannot read content %s of namespace %s: %w", digest, namespace, err)
	}
	return tree, nil
}

// Entry is a content in the store.
type Entry struct {
	blob.Info

	Digest string
}

// List returns the contents of a namespace.
func List(ctx context.Context, store blob.Store, namespace string) ([]Entry, error) {
	found, err := store.Below(ctx, Place(namespace), 1, "")
	if err != nil {
		return nil, err
	}
	var all []Entry
	for _, one := range found {
		all = append(all, Entry{Info: one, Digest: algorithm + one.Key.Name})
	}
	return all, nil
}
