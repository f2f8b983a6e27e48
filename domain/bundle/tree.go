package bundle

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The limits of a tree. They bound the memory that a source can occupy.
const (
	// MaxFiles is how many files a tree may have.
	MaxFiles = 10_000
	// MaxBytes is how large all files together may be: 64 MiB.
	MaxBytes = 64 << 20
	// MaxPath is how long a path may be, in bytes; each name in it has at most 255.
	MaxPath = 1024
	maxName = 255
)

// Tree is the content of a bundle: files by their paths. Its zero value is empty and
// ready. Whatever it came from, no path in it leads out of it, and none is there twice.
type Tree struct {
	files map[string]File
	// folders are the parents of all files.
	folders map[string]bool
	bytes   int
}

// File is one file of a tree. The tree keeps one bit of its mode, because it may matter to content: whether it may be
// executed. The rest, made by a umask or an archiver, differs from one machine to another.
type File struct {
	Content    []byte
	Executable bool
	// Link describes what the path is instead of a file: a symbolic link, a submodule. It is never followed, has no
	// content, and is refused where it is used (Tree.Unlinked).
	Link string
}

// ErrLimit is wrapped by errors about a tree that is too large.
var ErrLimit = errors.New("too large")

// ReadFile reads a file to its end, and no more than a tree could take (ErrLimit).
func ReadFile(in io.Reader) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(in, MaxBytes+1))
	if err == nil && len(content) > MaxBytes {
		err = fmt.Errorf("%w: it exceeds %d MiB", ErrLimit, MaxBytes>>20)
	}
	return content, err
}

// Add puts a file at a path, with slashes, relative to the top. It refuses a path that
// could lead elsewhere, one that is taken, also as a folder, and what exceeds the
// limits (ErrLimit). A refused file leaves the tree as it was.
func (t *Tree) Add(name string, f File) error {
	if err := CheckPath(name); err != nil {
		return err
	}
	if _, taken := t.files[name]; taken || t.folders[name] {
		return fmt.Errorf("cannot use path %q twice: keep one of the two", name)
	}
	for at := path.Dir(name); at != "."; at = path.Dir(at) {
		if _, taken := t.files[at]; taken {
			return fmt.Errorf("cannot use path %q: %q is a file, not a folder", name, at)
		}
	}
	switch {
	case len(t.files) == MaxFiles:
		return fmt.Errorf("cannot add %q: %w: there are %d files already, the limit", name, ErrLimit, MaxFiles)
	case len(f.Content) > MaxBytes-t.bytes:
		return fmt.Errorf("cannot add %q: %w: all files together exceed %d MiB", name, ErrLimit, MaxBytes>>20)
	}
	t.put(name, f)
	return nil
}

// put adds or replaces a file that was checked.
func (t *Tree) put(name string, f File) {
	if t.files == nil {
		t.files, t.folders = map[string]File{}, map[string]bool{}
	}
	t.bytes += len(f.Content) - len(t.files[name].Content)
	t.files[name] = f
	for at := path.Dir(name); at != "."; at = path.Dir(at) {
		t.folders[at] = true
	}
}

// CheckPath says what is wrong with a path inside of a tree: absolute, not in its
// shortest form, one that leads upwards, or with characters that some system reads
// as more than a name.
func CheckPath(name string) error {
	refused := func(why string) error { return fmt.Errorf("cannot use path %q: %s", name, why) }
	switch {
	case name == "" || name == ".":
		return refused("it names no file")
	case len(name) > MaxPath:
		return refused(fmt.Sprintf("it is longer than %d bytes", MaxPath))
	case !utf8.ValidString(name):
		return refused("it is not UTF-8")
	case strings.HasPrefix(name, "/"):
		return refused("it is absolute")
	case strings.ContainsFunc(name, func(r rune) bool { return r == '\\' || unicode.IsControl(r) }):
		return refused("it contains a backslash or a control character")
	case name != path.Clean(name) || name == ".." || strings.HasPrefix(name, "../"):
		return refused("it contains an empty name, \".\" or \"..\"")
	}
	first, _, _ := strings.Cut(name, "/")
	if len(first) == 2 && first[1] == ':' {
		return refused("it begins with a drive")
	}
	for part := range strings.SplitSeq(name, "/") {
		if len(part) > maxName {
			return refused(fmt.Sprintf("a name in it is longer than %d bytes", maxName))
		}
	}
	return nil
}

// File returns the file at a path, and whether there is one.
func (t *Tree) File(name string) (File, bool) {
	f, ok := t.files[name]
	if f.Link != "" {
		return File{}, false
	}
	return f, ok
}

// Paths returns the paths of all files, sorted.
func (t *Tree) Paths() []string {
	return slices.DeleteFunc(sorted(t.files), func(name string) bool { return t.files[name].Link != "" })
}

// sorted returns the paths of files and links, sorted.
func sorted(files map[string]File) []string { return slices.Sorted(maps.Keys(files)) }

// Links returns the entries of the tree that are not files, by their paths.
func (t *Tree) Links() map[string]string {
	links := map[string]string{}
	for name, f := range t.files {
		if f.Link != "" {
			links[name] = f.Link
		}
	}
	return links
}

// Unlinked returns an error that names each link in the tree (CONTENT.md X3).
func (t *Tree) Unlinked() error {
	var failed []error
	for _, name := range sorted(t.files) {
		failed = append(failed, t.Follow(name))
	}
	return errors.Join(failed...)
}

// Follow returns an error if a path is a link, or leads through one.
func (t *Tree) Follow(name string) error {
	for at := name; at != "." && at != "/"; at = path.Dir(at) {
		switch link := t.files[at].Link; link {
		case "":
			continue
		case Submodule:
			return fmt.Errorf("cannot use %q: it is %s: add its repository as a source of its own", at, link)
		default:
			return fmt.Errorf("cannot use %q: it is %s: replace it with a file, or set a path that does not need it", at, link)
		}
	}
	return nil
}

// The links that there are.
const (
	SymbolicLink = "a symbolic link"
	HardLink     = "a hard link"
	Submodule    = "a submodule"
)

// Contents returns the contents of all files by their paths.
func (t *Tree) Contents() map[string][]byte {
	all := map[string][]byte{}
	for _, name := range t.Paths() {
		all[name] = t.files[name].Content
	}
	return all
}

// Remove takes away a file, or a folder with all that lies below it. What is not there
// is no error.
func (t *Tree) Remove(name string) {
	kept := Tree{}
	for at, f := range t.files {
		if at != name && !strings.HasPrefix(at, name+"/") {
			kept.put(at, f)
		}
	}
	*t = kept
}

// Sub returns the files below a folder as a tree of their own, or the one file of that name.
// "" is all of them. A folder that has none is an error: the name is most likely misspelt.
func (t *Tree) Sub(folder string) (Tree, error) {
	if folder == "" {
		return *t, nil
	}
	var sub Tree
	if err := t.Follow(folder); err != nil {
		return Tree{}, err
	}
	if f, ok := t.files[folder]; ok {
		sub.put(path.Base(folder), f)
		return sub, nil
	}
	for at, f := range t.files {
		if name, ok := strings.CutPrefix(at, folder+"/"); ok {
			sub.put(name, f)
		}
	}
	if len(sub.files) == 0 {
		return Tree{}, fmt.Errorf("cannot find folder %q in the content: no file lies below it", folder)
	}
	return sub, nil
}

// Layer is a tree and the folder that it is laid into; "" is the top.
type Layer struct {
	Destination string
	Tree        Tree
}

// Overlay lays trees over each other, in the order given: where two have the same
// path the later one counts. A file where another layer has a folder is an error.
func Overlay(layers ...Layer) (Tree, error) {
	var all Tree
	for _, l := range layers {
		for _, name := range sorted(l.Tree.files) {
			at := path.Join(l.Destination, name)
			if replaced, ok := all.files[at]; ok {
				delete(all.files, at)
				all.bytes -= len(replaced.Content)
			}
			if err := all.Add(at, l.Tree.files[name]); err != nil {
				return Tree{}, err
			}
		}
	}
	return all, nil
}

// Digest returns "sha256:" and 64 hexadecimal digits that tell trees apart: by their
// paths, by what may be executed, and by every byte (BUNDLES.md, contentDigest).
func (t *Tree) Digest() string {
	all := sha256.New()
	for _, name := range sorted(t.files) {
		f, mode := t.files[name], "644"
		switch {
		case f.Link != "":
			mode, f.Content = "link", []byte(f.Link)
		case f.Executable:
			mode = "755"
		}
		// A path has no line end, so that no two trees give the same lines.
		fmt.Fprintf(all, "%s %x %s\n", mode, sha256.Sum256(f.Content), name)
	}
	return fmt.Sprintf("sha256:%x", all.Sum(nil))
}
