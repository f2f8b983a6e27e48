package exchange

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxMessage is how large a file of the folder may be, in bytes. The largest one is Start, with all variables.
const maxMessage = 4 << 20

// ErrSpoilt is wrapped where a file of the folder has what no part of the runner writes: the template may have, or a machine
// that lost its power.
var ErrSpoilt = errors.New("it was spoilt")

// errNoFile is for what a template has put in place of a file.
var errNoFile = errors.New("it is not a file, or too large")

// within opens a folder. The template may have put something else in its place: a link that leads out of the folder above is
// refused.
func within(folder string) (*os.Root, error) {
	above, err := os.OpenRoot(filepath.Dir(folder))
	if err != nil {
		return nil, err
	}
	defer above.Close()                                 //nolint:errcheck // it is only read
	return above.OpenRoot(filepath.Base(folder) + "/.") // so that a pipe does not block
}

// open opens a file of a folder. What else the template may have put there neither blocks nor leads elsewhere.
func open(folder *os.Root, name string, flags int) (*os.File, error) {
	return folder.OpenFile(name, flags|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0o600)
}

// openFile opens a file for reading, and returns its size.
func openFile(folder *os.Root, name string) (*os.File, int64, error) {
	file, err := open(folder, name, os.O_RDONLY)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNoFile
	}
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, info.Size(), nil
}

// misplaced reports whether an error is that of something else in place of a file.
func misplaced(err error) bool {
	return errors.Is(err, errNoFile) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) ||
		err != nil && strings.Contains(err.Error(), "escapes")
}

// readMessage reads a file of the exchange folder.
func readMessage(f Folder, name string) ([]byte, error) {
	folder, err := os.OpenRoot(string(f))
	if err != nil {
		return nil, err
	}
	defer folder.Close() //nolint:errcheck // it is only read
	file, size, err := openFile(folder, name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it is only read
	if size > maxMessage {
		return nil, errNoFile
	}
	return io.ReadAll(io.LimitReader(file, maxMessage))
}

// Read reads a part of a segment, from an offset.
func (s Segment) Read(offset, length int64) ([]byte, error) {
	folder, err := within(filepath.Dir(s.Path))
	if err != nil {
		return nil, err
	}
	defer folder.Close() //nolint:errcheck // it is only read
	file, _, err := openFile(folder, filepath.Base(s.Path))
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", filepath.Base(s.Path), err)
	}
	content := make([]byte, length)
	_, err = io.ReadFull(io.NewSectionReader(file, offset, length), content)
	return content, errors.Join(err, file.Close())
}

// Remove removes a segment.
func (s Segment) Remove() error {
	folder, err := within(filepath.Dir(s.Path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Remove(filepath.Base(s.Path)), folder.Close())
}
