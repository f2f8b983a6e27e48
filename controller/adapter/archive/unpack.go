package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// MaxStream limits an unpacked stream, in bytes: the largest content, and a header for each of the most files.
const MaxStream = bundle.MaxBytes + 4096*bundle.MaxFiles

// ErrFormat is wrapped for bytes that are not an archive.
var ErrFormat = errors.New("it is neither a tar archive, with or without gzip, nor a zip archive")

// Unpack returns the files of an archive. It refuses an archive that is cut off or
// damaged, and one with a link, a device, a name that leads out of it or is there twice,
// or with more than a tree may hold.
func Unpack(packed []byte) (bundle.Tree, error) {
	var tree bundle.Tree
	var err error
	switch {
	case bytes.HasPrefix(packed, []byte("PK\x03\x04")):
		err = unzip(&tree, packed)
	case bytes.HasPrefix(packed, []byte("\x1f\x8b")):
		err = gunzip(&tree, packed)
	case len(packed) > 262 && string(packed[257:262]) == "ustar":
		err = Untar(bytes.NewReader(packed), tree.Add)
	default:
		err = ErrFormat
	}
	if err != nil {
		return bundle.Tree{}, fmt.Errorf("cannot unpack the archive: %w", err)
	}
	return tree, nil
}

func gunzip(tree *bundle.Tree, packed []byte) error {
	in, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	return Untar(in, tree.Add)
}

// Untar gives each file of a stream to add, until one is refused. It reads the stream
// to its end, so that one that is cut off or damaged is an error.
func Untar(in io.Reader, add func(string, bundle.File) error) error {
	limited := &io.LimitedReader{R: in, N: MaxStream}
	err := untar(tar.NewReader(limited), add)
	if err == nil {
		_, err = io.Copy(io.Discard, limited)
	}
	if limited.N <= 0 {
		return fmt.Errorf("%w: unpacked it exceeds %d MiB", bundle.ErrLimit, MaxStream>>20)
	}
	return err
}

func untar(entries *tar.Reader, add func(string, bundle.File) error) error {
	for {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var f bundle.File
		switch entry.Typeflag {
		case tar.TypeDir, tar.TypeXGlobalHeader:
			continue
		case tar.TypeReg:
			f.Executable = entry.Mode&0o100 != 0
			if f.Content, err = read(entries, uint64(max(entry.Size, 0))); err != nil {
				return fmt.Errorf("cannot read %q: %w", entry.Name, err)
			}
		case tar.TypeSymlink, tar.TypeLink:
			f.Link = link(entry)
		default:
			return fmt.Errorf("cannot use %q: it is %s: pack files only", entry.Name, kind(entry.FileInfo().Mode()))
		}
		if err := add(strings.TrimPrefix(entry.Name, "./"), f); err != nil {
			return err
		}
	}
}

func unzip(tree *bundle.Tree, packed []byte) error {
	entries, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // the tree refuses those, by name
		return err
	}
	for _, entry := range entries.File {
		mode := entry.Mode()
		switch {
		case mode.IsDir():
			continue
		case mode&fs.ModeSymlink != 0:
			if err := tree.Add(entry.Name, bundle.File{Link: bundle.SymbolicLink}); err != nil {
				return err
			}
			continue
		case !mode.IsRegular():
			return fmt.Errorf("cannot use %q: it is %s: pack files only", entry.Name, kind(mode))
		}
		if err := unzipFile(tree, entry); err != nil {
			return err
		}
	}
	return nil
}

func unzipFile(tree *bundle.Tree, entry *zip.File) error {
	in, err := entry.Open()
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // it is only read
	content, err := read(in, entry.UncompressedSize64)
	if err != nil {
		return fmt.Errorf("cannot read %q: %w", entry.Name, err)
	}
	return tree.Add(entry.Name, bundle.File{Content: content, Executable: entry.Mode()&0o100 != 0})
}

func kind(mode fs.FileMode) string {
	if mode&fs.ModeDevice != 0 {
		return "a device"
	}
	return "no file"
}

// linkKey is the record of an entry that Pack has written for a submodule, which tar has not.
const linkKey = "ORCON.link"

// link describes an entry that is a link.
func link(entry *tar.Header) string {
	switch {
	case entry.PAXRecords[linkKey] == bundle.Submodule:
		return bundle.Submodule
	case entry.Typeflag == tar.TypeLink:
		return bundle.HardLink
	}
	return bundle.SymbolicLink
}

// read reads an entry that has a size to its end, where its checksum is verified. It takes no more memory
// than the entry.
func read(in io.Reader, size uint64) ([]byte, error) {
	if size > bundle.MaxBytes {
		return nil, fmt.Errorf("%w: it exceeds %d MiB", bundle.ErrLimit, bundle.MaxBytes>>20)
	}
	content := make([]byte, size)
	if _, err := io.ReadFull(in, content); err != nil {
		return nil, err
	}
	switch n, err := in.Read(make([]byte, 1)); {
	case errors.Is(err, io.EOF) && n == 0:
		return content, nil
	case err != nil && n == 0:
		return nil, err
	}
	return nil, errors.New("it is longer than the archive says")
}
