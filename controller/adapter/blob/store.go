package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

var (
	// ErrNotFound is wrapped where a store has no blob of a key.
	ErrNotFound = errors.New("there is no such blob")
	// ErrConflict is wrapped where a key has other content already.
	ErrConflict = errors.New("the key has other content already")
	// ErrLocked is wrapped where no key opens an encrypted blob.
	ErrLocked = errors.New("no key opens the blob")
)

// Info is about one blob.
type Info struct {
	Key  Key
	Size int64
	// Stored is when it was stored, by the store's clock.
	Stored time.Time
}

// Store keeps immutable blobs. Its methods may be called at the same time.
type Store interface {
	// Put stores content under a key. It returns when a power failure can no longer lose it. The same content again
	// succeeds, other content is ErrConflict. After an error the blob is there whole, or not at all.
	Put(ctx context.Context, key Key, content io.ReadSeeker) error
	// Get opens a blob, or returns ErrNotFound.
	Get(ctx context.Context, key Key) (io.ReadCloser, error)
	// Delete removes a blob. One that is not there is no error.
	Delete(ctx context.Context, key Key) error
	// Refresh has a blob count as stored now, or returns ErrNotFound.
	Refresh(ctx context.Context, key Key) error
	Index
}

// Index finds blobs, also where a list of all would be too long.
type Index interface {
	// List returns the blobs of a workspace, or of all for "", in order of their keys.
	List(ctx context.Context, workspace string) ([]Info, error)
	// Workspaces returns the workspaces that have blobs, sorted.
	Workspaces(ctx context.Context) ([]string, error)
	// Fences returns the fences of a workspace that have blobs, sorted.
	Fences(ctx context.Context, workspace string) ([]int64, error)
	// Below returns the blobs of one fence whose names begin with a prefix, in order of their names.
	Below(ctx context.Context, workspace string, fence int64, prefix string) ([]Info, error)
}

// Equal reports whether two readers give the same bytes.
func Equal(a, b io.Reader) (bool, error) {
	x, y := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, errA := io.ReadFull(a, x)
		m, errB := io.ReadFull(b, y)
		if !bytes.Equal(x[:n], y[:m]) {
			return false, errors.Join(failed(errA), failed(errB))
		}
		if errA != nil || errB != nil {
			return true, errors.Join(failed(errA), failed(errB))
		}
	}
}

// failed returns an error that is not an end.
func failed(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// Settle returns the result of a Put whose key is taken: nil if the stored content is the same.
func Settle(key Key, stored, content io.Reader) error {
	same, err := Equal(stored, content)
	switch {
	case err != nil:
		return fmt.Errorf("cannot compare blob %s with what is stored: %w", key, err)
	case !same:
		return fmt.Errorf("cannot store blob %s: %w", key, ErrConflict)
	}
	return nil
}
