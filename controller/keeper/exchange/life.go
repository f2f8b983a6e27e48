package exchange

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Life marks a process as alive.
type Life struct{ path, what string }

// open opens the file.
func (l Life) open(flags int) (*os.File, error) {
	folder, err := os.OpenRoot(filepath.Dir(l.path))
	if err != nil {
		return nil, err
	}
	defer folder.Close() //nolint:errcheck // the file stays open
	return open(folder, filepath.Base(l.path), flags)
}

// Lock marks the process as alive until the file is closed or the process ends.
func (l Life) Lock() (*os.File, error) {
	file, err := l.open(os.O_RDWR | os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("cannot mark %s as alive: %w", l.what, err)
	}
	if err := flock(file); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot mark %s as alive: another one is: %w", l.what, err), file.Close())
	}
	return file, nil
}

// Alive reports whether the process lives. Only a regular file is a mark.
func (l Life) Alive() (bool, error) {
	file, err := l.open(os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) || misplaced(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot look for %s: %w", l.what, err)
	}
	defer file.Close() //nolint:errcheck // it is only read
	// A shared lock, so that several that look do not take each other for the process.
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot look for %s: %w", l.what, err)
	}
	return false, nil
}

// flock takes the lock. Alive has it for a moment, so several tries are needed.
func flock(file *os.File) (err error) {
	for range 100 {
		if err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			return nil
		}
		<-time.After(time.Millisecond)
	}
	return err
}
