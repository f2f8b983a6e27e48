package content

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Cache is a folder that keeps content by the pinned reference that it has; "" keeps
// nothing. Each file is named for the reference and for the content's digest, so that
// one that was damaged is not used. Whoever may write to the folder is trusted.
type Cache string

// get returns what is kept for a reference.
func (c Cache) get(r bundle.Reference) (bundle.Tree, bool) {
	if c == "" {
		return bundle.Tree{}, false
	}
	files, err := filepath.Glob(filepath.Join(string(c), key(r)+"-*.tar"))
	if err != nil {
		return bundle.Tree{}, false
	}
	for _, file := range files {
		packed, err := os.ReadFile(file) //nolint:gosec // its name is a digest
		if err != nil {
			continue
		}
		tree, err := archive.Unpack(packed)
		if err == nil && filepath.Base(file) == name(r, &tree) {
			return tree, true
		}
	}
	return bundle.Tree{}, false
}

// put keeps content; whoever reads sees all of it or nothing.
func (c Cache) put(r bundle.Reference, tree bundle.Tree) error {
	if c == "" {
		return nil
	}
	packed, err := archive.Pack(&tree)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(string(c), 0o700); err != nil {
		return fmt.Errorf("cannot make the cache: %w", err)
	}
	file, err := os.CreateTemp(string(c), "next-")
	if err != nil {
		return fmt.Errorf("cannot write to the cache: %w", err)
	}
	defer os.Remove(file.Name()) //nolint:errcheck // it is there only if all this failed
	_, err = file.Write(packed)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), filepath.Join(string(c), name(r, &tree)))
	}
	if err != nil {
		return fmt.Errorf("cannot write to the cache: %w", err)
	}
	return nil
}

func key(r bundle.Reference) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(r.String()))) }

func name(r bundle.Reference, tree *bundle.Tree) string {
	return key(r) + "-" + strings.TrimPrefix(tree.Digest(), "sha256:") + ".tar"
}
