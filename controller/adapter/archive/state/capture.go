package state

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/klauspost/compress/zstd"
)

// Options choose what is captured.
type Options struct {
	// Below is a folder of the folder, which is captured alone; "" for all. A link that leads elsewhere is refused.
	Below   string
	Exclude Exclude
	// Limit is the size of the plain archive in bytes, from which on the capture fails with ErrTooLarge.
	Limit int64
}

// Summary is about a captured state.
type Summary struct {
	// Digest is the SHA-256 of the plain archive: equal states have equal ones.
	Digest string
	// Size is the size of the plain archive in bytes.
	Size int64
	// Torn reports that the folder changed while it was captured, so the archive may mix two states.
	Torn bool
}

// window is how far back repeated content is found, in bytes. With the library's own 8 MiB each capture would take 19 MB
// of memory in place of 4, and for small states twice the time.
const window = 1 << 20

// Capture writes the state in a folder as an archive. What Restore would refuse is an error. Files that another
// process changes meanwhile make the archive torn, and never fail it.
func Capture(out io.Writer, folder string, o Options) (Summary, error) {
	root, err := open(folder, o.Below)
	if err != nil {
		return Summary{}, fmt.Errorf("cannot capture the state: %w", err)
	}
	defer root.Close() //nolint:errcheck // it is only read
	packed, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window))
	if err != nil {
		return Summary{}, fmt.Errorf("cannot capture the state: %w", err)
	}
	plain := &measured{out: packed, digest: sha256.New(), limit: o.Limit, left: o.Limit}
	torn, err := capture(plain, root, o)
	if err = errors.Join(err, packed.Close()); err != nil {
		return Summary{}, fmt.Errorf("cannot capture the state: %w", err)
	}
	return Summary{Digest: plain.sum(), Size: o.Limit - plain.left, Torn: torn}, nil
}

// open opens a folder, or one of its folders. A program may have put something else in the place of that one.
func open(folder, below string) (*os.Root, error) {
	root, err := os.OpenRoot(folder)
	if err != nil || below == "" {
		return root, err
	}
	defer root.Close()                 //nolint:errcheck // it is only read
	return root.OpenRoot(below + "/.") // so that a pipe does not block
}

func capture(out io.Writer, root *os.Root, o Options) (torn bool, err error) {
	found, err := walk(root, o)
	if err != nil {
		return false, err
	}
	entries := tar.NewWriter(out)
	for _, one := range found.entries {
		changed, err := pack(entries, root, one)
		if err != nil {
			return false, err
		}
		torn = torn || changed
	}
	if err := entries.Close(); err != nil {
		return false, err
	}
	after, err := walk(root, o)
	return torn || found.changed || after.changed || !slices.EqualFunc(found.entries, after.entries, same), err
}

// entry is a file, a folder or a link as it was seen.
type entry struct {
	name string
	info fs.FileInfo
}

// same reports whether an entry is as it was.
func same(a, b entry) bool {
	if a.name != b.name || !os.SameFile(a.info, b.info) || a.info.Mode() != b.info.Mode() {
		return false
	}
	if a.info.IsDir() { // what it holds is compared itself; excluded files may come and go
		return true
	}
	x, _ := a.info.Sys().(*syscall.Stat_t)
	y, _ := b.info.Sys().(*syscall.Stat_t)
	return x.Size == y.Size && x.Mtim == y.Mtim && x.Ctim == y.Ctim
}

// listing collects what a folder holds.
type listing struct {
	root    *os.Root
	options Options
	entries []entry
	// changed reports that a folder went away meanwhile.
	changed bool
}

// walk returns what is to be captured, folders before what they hold, sorted.
func walk(root *os.Root, o Options) (listing, error) {
	l := listing{root: root, options: o}
	err := l.walk(".")
	return l, err
}

func (l *listing) walk(folder string) error {
	opened, err := l.root.OpenFile(folder, os.O_RDONLY|syscall.O_DIRECTORY, 0) // a pipe that took its place must not block
	if err != nil {
		return l.skip(folder, err)
	}
	names, err := opened.Readdirnames(-1)
	if err := errors.Join(err, opened.Close()); err != nil {
		return l.skip(folder, err)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := l.add(path.Join(folder, name)); err != nil {
			return err
		}
	}
	return nil
}

func (l *listing) add(name string) error {
	info, err := l.root.Lstat(name)
	if err != nil {
		return l.skip(name, err)
	}
	if l.options.Exclude.Matches(name, info.IsDir()) {
		return nil
	}
	if int64(len(l.entries)) > l.options.Limit/headerSize {
		return tooLarge(l.options.Limit)
	}
	l.entries = append(l.entries, entry{name, info})
	if info.IsDir() {
		return l.walk(name)
	}
	return nil
}

// headerSize is the least that an entry takes.
const headerSize = 512

// skip passes over what went away, or became something else, since it was listed.
func (l *listing) skip(name string, err error) error {
	if name != "." && (gone(err) || strings.Contains(err.Error(), "escapes")) {
		l.changed = true
		return nil
	}
	return fmt.Errorf("cannot read %q: %w", name, err)
}

func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)
}

// pack writes an entry. It reports whether it is no longer what was listed.
func pack(out *tar.Writer, root *os.Root, one entry) (changed bool, err error) {
	target := ""
	if one.info.Mode().Type() == fs.ModeSymlink {
		if target, err = root.Readlink(one.name); err != nil {
			return true, passed(one.name, err)
		}
	}
	header, err := headerOf(one.name, one.info.Mode(), one.info.Size(), target)
	if err != nil {
		return false, err
	}
	if header.Typeflag != tar.TypeReg {
		return false, out.WriteHeader(&header)
	}
	// A pipe that took the file's place must not block.
	file, err := root.OpenFile(one.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return true, passed(one.name, err)
	}
	defer file.Close() //nolint:errcheck // it is only read
	info, err := file.Stat()
	if err != nil || !os.SameFile(info, one.info) {
		return true, err
	}
	if err := out.WriteHeader(&header); err != nil {
		return false, err
	}
	return copyExactly(out, file, one.name, header.Size)
}

// passed returns an error unless the entry went away, or became something else: ENXIO is a socket's.
func passed(name string, err error) error {
	if gone(err) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENXIO) || strings.Contains(err.Error(), "escapes") {
		return nil
	}
	return fmt.Errorf("cannot read %q: %w", name, err)
}

// copyExactly writes as many bytes as the header promises: zeros where the file became shorter.
func copyExactly(out io.Writer, file io.Reader, name string, size int64) (changed bool, err error) {
	source := &reading{in: file}
	n, err := io.CopyN(out, source, size)
	switch {
	case source.failed != nil:
		return false, fmt.Errorf("cannot read %q: %w", name, source.failed)
	case err != nil && !errors.Is(err, io.EOF):
		return false, err
	case n == size:
		return false, nil
	}
	_, err = io.CopyN(out, zeros{}, size-n)
	return true, err
}

// reading remembers that reading failed, apart from failures of writing.
type reading struct {
	in     io.Reader
	failed error
}

// Read implements io.Reader.
func (r *reading) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.failed = err
	}
	return n, err
}

// zeros reads as zeros without end.
type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// measured counts and digests the plain archive, and ends it at its limit.
type measured struct {
	out    io.Writer
	digest hash.Hash
	limit  int64
	left   int64
}

// Write implements io.Writer.
func (m *measured) Write(p []byte) (int, error) {
	if m.left -= int64(len(p)); m.left < 0 {
		return 0, tooLarge(m.limit)
	}
	m.digest.Write(p)
	return m.out.Write(p)
}

func (m *measured) sum() string { return "sha256:" + hex.EncodeToString(m.digest.Sum(nil)) }

func tooLarge(limit int64) error {
	return fmt.Errorf("%w: as an archive it exceeds %d bytes: remove or exclude files", ErrTooLarge, limit)
}
