package git

import (
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// read returns the files of a commit that lie in a folder.
func read(store storer.EncodedObjectStorer, commit plumbing.Hash, folder string) (bundle.Tree, error) {
	at, err := object.GetCommit(store, commit)
	if err != nil {
		return bundle.Tree{}, fmt.Errorf("the repository does not have it: %w", err)
	}
	top, err := at.Tree()
	if err != nil {
		return bundle.Tree{}, err
	}
	return files(store, top, folder)
}

// mostEntries is how many files and folders are walked through: trees that share their parts have any number.
const mostEntries = 10 * bundle.MaxFiles

// files returns those files of a tree that lie in a folder, by their whole paths.
func files(store storer.EncodedObjectStorer, top *object.Tree, folder string) (tree bundle.Tree, err error) {
	if folder != "" {
		top, err = top.Tree(folder)
	}
	if errors.Is(err, object.ErrDirectoryNotFound) {
		return bundle.Tree{}, nil
	}
	if err != nil {
		return bundle.Tree{}, err
	}
	entries := object.NewTreeWalker(top, true, nil)
	defer entries.Close()
	for range mostEntries {
		name, entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return tree, nil
		}
		if err == nil {
			err = add(&tree, store, path.Join(folder, name), entry)
		}
		if err != nil {
			return bundle.Tree{}, err
		}
	}
	return bundle.Tree{}, fmt.Errorf("%w: it has more than %d files and folders: set a folder that has fewer", bundle.ErrLimit, mostEntries)
}

func add(tree *bundle.Tree, store storer.EncodedObjectStorer, name string, entry object.TreeEntry) error {
	switch entry.Mode {
	case filemode.Dir:
		return nil
	case filemode.Regular, filemode.Deprecated, filemode.Executable:
	case filemode.Submodule:
		return tree.Add(name, bundle.File{Link: bundle.Submodule})
	default:
		return tree.Add(name, bundle.File{Link: bundle.SymbolicLink})
	}
	blob, err := object.GetBlob(store, entry.Hash)
	if err != nil {
		return fmt.Errorf("cannot read %q: %w", name, err)
	}
	in, err := blob.Reader()
	if err != nil {
		return fmt.Errorf("cannot read %q: %w", name, err)
	}
	defer in.Close() //nolint:errcheck // it is only read
	content, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("cannot read %q: %w", name, err)
	}
	return tree.Add(name, bundle.File{Content: content, Executable: entry.Mode == filemode.Executable})
}
