package shim

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"

	"github.com/golang/glog"
)

// Rescue names files of the working directory that are kept with the state: what a tool writes there where it could not
// store its own state (JOBS-DESIGN.md 10).
type Rescue struct {
	// Patterns are globs from the top of the working directory.
	Patterns []string
	// State is the folder of the state.
	State string
}

// save copies the files into the state, by their names; links are left out. What cannot be copied is logged: no process
// of the template is left.
func (r Rescue) save(work string) {
	if len(r.Patterns) == 0 {
		return
	}
	from, err := os.OpenRoot(work)
	if err != nil {
		glog.Errorf("cannot rescue files: %v", err)
		return
	}
	defer from.Close() //nolint:errcheck // it is only read
	// A glob of the library would open a pipe as a folder, and wait for ever.
	err = fs.WalkDir(from.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && r.matches(name) {
			err = r.copy(from, name)
		}
		if err != nil {
			glog.Errorf("cannot rescue %q: %v", name, err)
		}
		return nil
	})
	if err != nil {
		glog.Errorf("cannot rescue files: %v", err)
	}
}

// matches reports whether a file is to be kept.
func (r Rescue) matches(name string) bool {
	return slices.ContainsFunc(r.Patterns, func(pattern string) bool {
		matched, _ := path.Match(pattern, name)
		return matched
	})
}

// copy copies a file. What has its name in the state is replaced: it may be a pipe.
func (r Rescue) copy(from *os.Root, name string) error {
	in, err := from.Open(name)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // it is only read
	to, err := os.OpenRoot(r.State)
	if err != nil {
		return err
	}
	defer to.Close() //nolint:errcheck // the file is closed, with its error
	if err := to.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	if err := to.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
