package state

import (
	"archive/tar"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// maxWindow limits the memory that an archive may demand of its reader, in bytes.
const maxWindow = 64 << 20

// Restore writes a captured state into an empty folder. Nothing is written unless the whole archive is one that
// Capture writes, has the digest and is within the limit, which is about the plain archive.
func Restore(folder string, packed io.ReadSeeker, digest string, limit int64) error {
	if _, err := packed.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("cannot restore the state: %w", err)
	}
	got, err := Verify(packed, limit)
	if err != nil {
		return err
	}
	if got.Digest != digest {
		return fmt.Errorf("cannot restore the state: its digest is %s instead of %s: it was damaged where it is stored",
			got.Digest, digest)
	}
	if _, err = packed.Seek(0, io.SeekStart); err == nil {
		err = restore(folder, packed, limit)
	}
	if err != nil {
		return fmt.Errorf("cannot restore the state: %w", err)
	}
	return nil
}

// Verify reads an archive to its end and returns its digest and size. Only the exact form that Capture writes is
// accepted: so a folder that is restored and captured again gives the same bytes.
func Verify(packed io.Reader, limit int64) (Summary, error) {
	var got Summary
	err := decompress(packed, func(plain io.Reader) (err error) {
		got, err = VerifyPlain(plain, limit)
		return err
	})
	if err != nil {
		return Summary{}, fmt.Errorf("cannot read the state's archive: %w", err)
	}
	return got, nil
}

// VerifyPlain is Verify for an archive that is not compressed.
func VerifyPlain(plain io.Reader, limit int64) (Summary, error) {
	read := &measured{out: io.Discard, digest: sha256.New(), limit: limit, left: limit}
	written := &measured{out: io.Discard, digest: sha256.New(), limit: limit, left: limit}
	again := tar.NewWriter(written)
	in := io.TeeReader(plain, read)
	err := each(in, func(h tar.Header, content io.Reader) error {
		if err := again.WriteHeader(&h); err != nil {
			return err
		}
		_, err := io.Copy(again, content)
		return err
	})
	if err == nil {
		_, err = io.Copy(io.Discard, in)
	}
	if err = errors.Join(err, again.Close()); err != nil {
		return Summary{}, err
	}
	if read.sum() != written.sum() {
		return Summary{}, fmt.Errorf("%w: it is not in the form that a capture writes: pack it with orcon", ErrRefused)
	}
	return Summary{Digest: read.sum(), Size: limit - read.left}, nil
}

// ReadFile returns a file at the top of a verified archive, of at most limit bytes; fs.ErrNotExist if it has none of the name.
func ReadFile(packed io.Reader, name string, limit int64) (text []byte, err error) {
	found := errors.New("found")
	err = decompress(packed, func(plain io.Reader) error {
		return each(plain, func(h tar.Header, content io.Reader) (err error) {
			switch {
			case h.Name != name || h.Typeflag != tar.TypeReg:
				return nil
			case h.Size > limit:
				return tooLarge(limit)
			}
			if text, err = io.ReadAll(content); err == nil {
				err = found
			}
			return err
		})
	})
	switch {
	case errors.Is(err, found):
		return text, nil
	case err == nil:
		err = fs.ErrNotExist
	}
	return nil, fmt.Errorf("cannot read %s: %w", name, err)
}

func decompress(packed io.Reader, use func(plain io.Reader) error) error {
	plain, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return err
	}
	defer plain.Close()
	return use(plain)
}

// each calls use for each entry, after the rules have accepted it.
func each(plain io.Reader, use func(h tar.Header, content io.Reader) error) error {
	entries := tar.NewReader(plain)
	folders := map[string]bool{".": true}
	last := ""
	for {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(entry.Name, "/")
		h, err := check(name, entry)
		switch {
		case err != nil:
			return err
		case name == last:
			return refuse(name, "it is there twice", "pack it once")
		case last != "" && !before(last, name):
			return refuse(name, fmt.Sprintf("it comes after %q", last), "sort the entries: use orcon to pack them")
		case !folders[path.Dir(name)]:
			return refuse(name, "its folder is missing before it, or is a file or a link", "pack the folder first")
		}
		if last = name; h.Typeflag == tar.TypeDir {
			folders[name] = true
		}
		if err := use(h, entries); err != nil {
			return err
		}
	}
}

// check returns the header that Capture would write for an entry.
func check(name string, entry *tar.Header) (tar.Header, error) {
	mode := fs.FileMode(entry.Mode&permissions) | entry.FileInfo().Mode().Type()
	switch entry.Typeflag {
	case tar.TypeReg, tar.TypeDir, tar.TypeSymlink, tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		return headerOf(name, mode, entry.Size, entry.Linkname)
	case tar.TypeLink:
		return tar.Header{}, refuse(name, "it is a hard link", "pack the file itself")
	}
	return tar.Header{}, refuse(name, fmt.Sprintf("it is an entry of type %q", entry.Typeflag), "pack files, folders and symbolic links")
}

// restore writes an archive that is verified.
func restore(folder string, packed io.Reader, limit int64) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // each file is closed, with its error
	if left, err := fs.ReadDir(root.FS(), "."); err != nil || len(left) > 0 {
		return errors.Join(err, fmt.Errorf("folder %s is not empty: it holds %d files and folders", folder, len(left)))
	}
	var folders []tar.Header
	err = decompress(packed, func(plain io.Reader) error {
		return each(io.LimitReader(plain, limit), func(h tar.Header, content io.Reader) error {
			h.Name = strings.TrimSuffix(h.Name, "/")
			switch h.Typeflag {
			case tar.TypeDir:
				folders = append(folders, h)
				return root.Mkdir(h.Name, 0o700)
			case tar.TypeSymlink:
				return root.Symlink(h.Linkname, h.Name)
			}
			return write(root, h, content)
		})
	})
	for i := len(folders) - 1; i >= 0 && err == nil; i-- { // a folder may be read-only, so what it holds comes first
		err = root.Chmod(folders[i].Name, fs.FileMode(folders[i].Mode)) //nolint:gosec // nine bits, checked
	}
	return err
}

func write(root *os.Root, h tar.Header, content io.Reader) error {
	file, err := root.OpenFile(h.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Chmod(fs.FileMode(h.Mode)), file.Close()) //nolint:gosec // nine bits, checked
}
