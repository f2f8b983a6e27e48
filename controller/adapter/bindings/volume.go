package bindings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

const (
	// dataLink names the version that is in force, as the kubelet calls it.
	dataLink = "..data"
	// nextLink becomes dataLink by a rename.
	nextLink = "..data_tmp"
	// stagedPrefix begins the names of directories that are not yet, or no longer, in use.
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
		dir, err := openDir(root, name)
		if err != nil {
			return create(root, name, files)
		}
		defer func() { _ = dir.Close() }()
		current, err := dir.Readlink(dataLink)
		if err != nil {
			return create(root, name, files)
		}
		if same(dir, current, files) { // what a process that was killed, or has failed, left undone is done
			return errors.Join(link(dir, files), prune(dir))
		}
		return update(dir, files)
	})
	if err != nil {
		return fmt.Errorf("cannot write bindings %q: %w", name, err)
	}
	return nil
}

// Read returns the files of directory name (name to content); nil if there is no such directory.
func (v Volume) Read(name string) (files map[string]string, err error) {
	if err = checkName(name); err == nil {
		err = v.within(func(root *os.Root) error {
			files, err = contents(root, name)
			return err
		})
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("cannot read bindings %q: %w", name, err)
	}
	return files, nil
}

// Remove takes directory name away, all at once. It succeeds if the name does not exist.
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

// Names lists the directories, in any order.
func (v Volume) Names() (names []string, err error) {
	err = v.within(func(root *os.Root) error {
		names, err = list(root)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot list bindings: %w", err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "..") }), nil
}

// Clean removes what a process that was killed half-way has left behind.
func (v Volume) Clean() error {
	err := v.within(func(root *os.Root) error {
		names, err := list(root)
		if err != nil {
			return err
		}
		var failed []error
		for _, name := range names {
			if strings.HasPrefix(name, stagedPrefix) {
				failed = append(failed, root.RemoveAll(name))
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
	dir, err := mkdir(root, staged)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	if err := publish(dir, files); err != nil {
		return err
	}
	if err := link(dir, files); err != nil {
		return err
	}
	if err := discard(root, name); err != nil {
		return err
	}
	return root.Rename(staged, name)
}

// update puts a new version in force in a directory that people may watch.
func update(dir *os.Root, files map[string]string) error {
	if err := publish(dir, files); err != nil {
		return errors.Join(err, prune(dir))
	}
	return errors.Join(link(dir, files), prune(dir))
}

// publish writes a version of files into dir and lets ..data point to it.
func publish(dir *os.Root, files map[string]string) error {
	name := versionName()
	version, err := mkdir(dir, name)
	if err != nil {
		return err
	}
	defer func() { _ = version.Close() }()
	for file, content := range files {
		if err := write(version, file, content); err != nil {
			return err
		}
	}
	err = dir.Symlink(name, nextLink)
	if errors.Is(err, fs.ErrExist) { // of a process that was killed
		err = dir.Remove(nextLink)
		if err == nil {
			err = dir.Symlink(name, nextLink)
		}
	}
	if err != nil {
		return err
	}
	return dir.Rename(nextLink, dataLink)
}

// link makes the names that people read: one for each file, and no other.
func link(dir *os.Root, files map[string]string) error {
	names, err := list(dir)
	if err != nil {
		return err
	}
	linked := make(map[string]bool, len(names))
	var failed []error
	for _, name := range names {
		switch _, wanted := files[name]; {
		case strings.HasPrefix(name, ".."):
		case wanted:
			linked[name] = true
		default:
			failed = append(failed, dir.Remove(name))
		}
	}
	for file := range files {
		if !linked[file] {
			failed = append(failed, dir.Symlink(path.Join(dataLink, file), file))
		}
	}
	return errors.Join(failed...)
}

// prune removes every version of dir but the one in force.
func prune(dir *os.Root) error {
	current, err := dir.Readlink(dataLink)
	if err != nil {
		return err
	}
	names, err := list(dir)
	if err != nil {
		return err
	}
	var failed []error
	for _, name := range names {
		if strings.HasPrefix(name, "..") && name != dataLink && name != current {
			failed = append(failed, dir.RemoveAll(name))
		}
	}
	return errors.Join(failed...)
}

// contents returns the files of the version of a directory that is in force.
func contents(root *os.Root, name string) (map[string]string, error) {
	dir, err := openDir(root, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	version, err := dir.Readlink(dataLink)
	if err != nil {
		return nil, err
	}
	held, err := openDir(dir, version)
	if err != nil {
		return nil, err
	}
	defer func() { _ = held.Close() }()
	names, err := list(held)
	if err != nil {
		return nil, err
	}
	files := make(map[string]string, len(names))
	for _, file := range names {
		content, err := held.ReadFile(file)
		if err != nil {
			return nil, err
		}
		files[file] = string(content)
	}
	return files, nil
}

// same reports whether a version of dir holds exactly files.
func same(dir *os.Root, version string, files map[string]string) bool {
	held, err := openDir(dir, version)
	if err != nil {
		return false
	}
	defer func() { _ = held.Close() }()
	names, err := list(held)
	if err != nil || len(names) != len(files) {
		return false
	}
	for file, content := range files {
		is, err := held.ReadFile(file)
		if err != nil || string(is) != content {
			return false
		}
	}
	return true
}

// list returns the names in dir, in any order.
func list(dir *os.Root) ([]string, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return f.Readdirnames(-1)
}

// discard moves name aside before it removes it: no reader sees it half removed.
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

// openDir opens a directory in root. What else has its name is an error, and is not opened: a pipe would
// wait for a writer.
func openDir(root *os.Root, name string) (*os.Root, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
	}
	return root.OpenRoot(name)
}

// mkdir makes a directory in root and opens it.
func mkdir(root *os.Root, name string) (*os.Root, error) {
	if err := root.Mkdir(name, modeDir); err != nil {
		return nil, err
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	err = errors.Join(f.Chmod(modeDir), f.Close()) // whatever the umask is; not by os.Root.Chmod, which seccomp may refuse
	if err != nil {
		return nil, err
	}
	return root.OpenRoot(name)
}

func write(version *os.Root, file, content string) error {
	f, err := version.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, modeFile)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	return errors.Join(err, f.Chmod(modeFile), f.Close())
}
