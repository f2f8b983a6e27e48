package bindings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// File is a file that is replaced whole: whoever opens it reads either all of
// the old content or all of the new.
type File struct {
	// Path is where it is; its folder must exist.
	Path string
}

// Replace makes content the file's content. On an error what was there stays.
func (f File) Replace(content []byte) error {
	staged := f.Path + ".new"
	err := os.WriteFile(staged, content, modeFile)
	if err == nil {
		err = os.Rename(staged, f.Path)
	}
	if err != nil {
		_ = os.Remove(staged)
		return fmt.Errorf("cannot write %s: %w", f.Path, err)
	}
	return nil
}

// Read returns the content, or nil if there is no such file.
func (f File) Read() ([]byte, error) {
	content, err := os.ReadFile(f.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot read %s: %w", f.Path, err)
	}
	return content, nil
}

// Exists tells whether the file is there.
func (f File) Exists() bool {
	_, err := os.Stat(f.Path)
	return err == nil
}
