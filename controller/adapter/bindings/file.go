package bindings

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// File is a file that is replaced whole: a reader sees either all of the old content or all of the new. A link in its
// place is not followed.
type File struct {
	// Path is where it is; its folder must exist.
	Path string
}

// Replace makes content the file's content. On an error what was there stays.
func (f File) Replace(content []byte) error {
	staged := f.Path + ".new"
	err := stage(staged, content)
	if err == nil {
		err = os.Rename(staged, f.Path)
	}
	if err != nil {
		_ = os.Remove(staged)
		return fmt.Errorf("cannot write %s: %w", f.Path, err)
	}
	return nil
}

// stage writes a file that is not there yet, and never through a link.
func stage(path string, content []byte) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // of a process before this one
	}
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, modeFile) //nolint:gosec // the caller's own path
	if err != nil {
		return err
	}
	_, err = to.Write(content)
	return errors.Join(err, to.Close())
}

// Read returns the content, or nil if there is no such file. A link is none, and
// an error (SAFETY.md I28).
func (f File) Read() ([]byte, error) {
	content, err := read(f.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot read %s: %w", f.Path, err)
	}
	return content, nil
}

func read(path string) ([]byte, error) {
	from, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0) //nolint:gosec // the caller's own path
	if err != nil {
		return nil, err
	}
	defer func() { _ = from.Close() }()
	return io.ReadAll(from)
}

// Exists tells whether the file is there; a link is none.
func (f File) Exists() bool {
	info, err := os.Lstat(f.Path)
	return err == nil && info.Mode().IsRegular()
}
