package directory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Read returns the files of a folder and of all folders in it, but .git. Links are not
// followed: one may lead to what its author should not read. Devices, sockets and pipes are refused.
func Read(folder string) (bundle.Tree, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return bundle.Tree{}, fmt.Errorf("cannot read the folder: %w", err)
	}
	defer root.Close() //nolint:errcheck // it is only read
	tree, err := Files(root.FS())
	if err != nil {
		return bundle.Tree{}, fmt.Errorf("cannot read folder %s: %w", folder, err)
	}
	return tree, nil
}

// Files does the same with what has files in any other way, such as a program that holds
// some.
func Files(files fs.FS) (bundle.Tree, error) {
	var tree bundle.Tree
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.Name() == ".git":
			return fs.SkipDir
		case entry.IsDir():
			return nil
		case entry.Type()&fs.ModeSymlink != 0:
			return tree.Add(name, bundle.File{Link: bundle.SymbolicLink})
		case !entry.Type().IsRegular():
			return fmt.Errorf("cannot use %q: it is %s, not a file: replace it with a file", name, kind(entry.Type()))
		}
		return add(files, &tree, name)
	})
	if err != nil {
		return bundle.Tree{}, err
	}
	return tree, nil
}

func add(files fs.FS, tree *bundle.Tree, name string) error {
	f, err := files.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it is only read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	content, err := bundle.ReadFile(f)
	if err != nil {
		return err
	}
	return tree.Add(name, bundle.File{Content: content, Executable: info.Mode()&0o100 != 0})
}

// File returns the content of one file, such as an archive; at most bundle.MaxBytes.
func File(path string) ([]byte, error) {
	f, err := os.Open(path) //nolint:gosec // the user names it
	if err != nil {
		return nil, fmt.Errorf("cannot read the file: %w", err)
	}
	defer f.Close() //nolint:errcheck // it is only read
	content, err := bundle.ReadFile(f)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, err)
	}
	return content, nil
}

// IsFolder reports whether a path is a folder; what is not there is an error.
func IsFolder(path string) (bool, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, fs.ErrNotExist
	}
	return err == nil && info.IsDir(), err
}

func kind(mode fs.FileMode) string {
	if mode&fs.ModeDevice != 0 {
		return "a device"
	}
	return "a pipe or a socket"
}
