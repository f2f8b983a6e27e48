package bindings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

const (
	// dataLink names the version that is in force, as the kubelet calls it.
	dataLink = "..data"
	// nextLink becomes dataLink by a rename.
	nextLink = "..data_tmp"
	// stagedPrefix begins the names of directories that are not yet, or no
	// longer, anybody's.
	stagedPrefix = "..orcon_"

	// Everything is readable by containers of any user in the pod, as in a
	// volume that the kubelet projects; the volume is theirs alone.
	modeDir  fs.FileMode = 0o755
	modeFile fs.FileMode = 0o644
)

// Volume is a folder whose directories are replaced atomically. It is opened
// anew for each call, so that it may be missing for a while. No name given to
// it reaches outside of it, whatever it contains.
type Volume struct {
	// Path is the folder.
	Path string
}

// Write makes directory name hold exactly files (name to content). A reader
// sees either all of the old ones or all of the new ones through ..data, and
// a new directory appears with everything in it. Where nothing differs nothing
// is written. On an error, such as a full volume, what was there stays.
func (v Volume) Write(name string, files map[string]string) error {
	err := v.within(func(root *os.Root) error {
		if err := checkNames(name, files); err != nil {
			return err
		}
		current, err := root.Readlink(path.Join(name, dataLink))
		if err != nil {
			return create(root, name, files)
		}
		if same(root, path.Join(name, current), files) {
			return link(root, name, files)
		}
		return update(root, name, files)
	})
	if err != nil {
		return fmt.Errorf("cannot write bindings %q: %w", name, err)
	}
	return nil
}

// Remove takes directory name away, all at once. A name that does not exist is
// no error.
func (v Volume) Remove(name string) error {
	err := checkName(name)
	if err == nil {
		err = v.within(func(root *os.Root) error { return discard(root, name) })
	}
	if err != nil {
		return fmt.Errorf("cannot remove bindings %q: %w", name, err)
	}
	return nil
}

// Clean removes what a process that was killed half-way has left behind.
func (v Volume) Clean() error {
	err := v.within(func(root *os.Root) error {
		entries, err := fs.ReadDir(root.FS(), ".")
		if err != nil {
			return err
		}
		var failed []error
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), stagedPrefix) {
				failed = append(failed, root.RemoveAll(e.Name()))
			}
		}
		return errors.Join(failed...)
	})
	if err != nil {
		return fmt.Errorf("cannot clean bindings: %w", err)
	}
	return nil
}

func (v Volume) within(do func(*os.Root) error) error {
	root, err := os.OpenRoot(v.Path)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return do(root)
}

// create builds the directory elsewhere and moves it into place, so that it is
// never seen without its files.
func create(root *os.Root, name string, files map[string]string) (err error) {
	staged := stagedPrefix + unique()
	defer func() {
		if err != nil {
			_ = root.RemoveAll(staged)
		}
	}()
	if err := mkdir(root, staged); err != nil {
		return err
	}
	if err := publish(root, staged, files); err != nil {
		return err
	}
	if err := link(root, staged, files); err != nil {
		return err
	}
	if err := discard(root, name); err != nil {
		return err
	}
	return root.Rename(staged, name)
}

// update puts a new version in force in a directory that people may watch.
func update(root *os.Root, name string, files map[string]string) error {
	if err := publish(root, name, files); err != nil {
		return errors.Join(err, prune(root, name))
	}
	return errors.Join(link(root, name, files), prune(root, name))
}

// publish writes a version of files into dir and lets ..data point to it.
func publish(root *os.Root, dir string, files map[string]string) error {
	version := versionName()
	if err := mkdir(root, path.Join(dir, version)); err != nil {
		return err
	}
	for file, content := range files {
		if err := write(root, path.Join(dir, version, file), content); err != nil {
			return err
		}
	}
	next := path.Join(dir, nextLink)
	if err := root.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := root.Symlink(version, next); err != nil {
		return err
	}
	return root.Rename(next, path.Join(dir, dataLink))
}

// link makes the names that people read: one for each file, and no other.
func link(root *os.Root, dir string, files map[string]string) error {
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		return err
	}
	linked := make(map[string]bool, len(entries))
	var failed []error
	for _, e := range entries {
		switch _, wanted := files[e.Name()]; {
		case strings.HasPrefix(e.Name(), ".."):
		case wanted:
			linked[e.Name()] = true
		default:
			failed = append(failed, root.Remove(path.Join(dir, e.Name())))
		}
	}
	for file := range files {
		if !linked[file] {
			failed = append(failed, root.Symlink(path.Join(dataLink, file), path.Join(dir, file)))
		}
	}
	return errors.Join(failed...)
}

// prune removes every version of dir but the one in force.
func prune(root *os.Root, dir string) error {
	current, err := root.Readlink(path.Join(dir, dataLink))
	if err != nil {
		return err
	}
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		return err
	}
	var failed []error
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), "..") && e.Name() != current {
			failed = append(failed, root.RemoveAll(path.Join(dir, e.Name())))
		}
	}
	return errors.Join(failed...)
}

// same tells whether the directory holds exactly files.
func same(root *os.Root, dir string, files map[string]string) bool {
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil || len(entries) != len(files) {
		return false
	}
	for file, content := range files {
		held, err := root.ReadFile(path.Join(dir, file))
		if err != nil || string(held) != content {
			return false
		}
	}
	return true
}

// discard moves name aside before it removes it: nobody sees it half removed.
func discard(root *os.Root, name string) error {
	aside := stagedPrefix + unique()
	err := root.Rename(name, aside)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return root.RemoveAll(aside)
}

func mkdir(root *os.Root, dir string) error {
	if err := root.Mkdir(dir, modeDir); err != nil {
		return err
	}
	f, err := root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(modeDir), f.Close()) // whatever the umask is; not by os.Root.Chmod, which seccomp may refuse
}

func write(root *os.Root, file, content string) error {
	f, err := root.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, modeFile)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	return errors.Join(err, f.Chmod(modeFile), f.Close())
}
