package directory

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"sync"
	"syscall"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
)

// The names of the store's own files: no part of a key begins with a dot.
const (
	lockName = ".lock"
	incoming = ".incoming"
)

// Store is a folder of blobs.
type Store struct {
	root *os.Root
	lock *os.File
	// structure is held while folders are made and removed.
	structure sync.Mutex
	// durable has folders whose names no power failure can lose.
	durable map[string]bool
}

// Open returns the store of a folder, which is made if it is not there. Another process that has it open is an error.
func Open(folder string) (*Store, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("cannot open the blob store: %w", err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("cannot open the blob store: %w", err)
	}
	s := &Store{root: root, durable: map[string]bool{}}
	if err := s.prepare(); err != nil {
		return nil, fmt.Errorf("cannot open the blob store %s: %w", folder, errors.Join(err, s.Close()))
	}
	return s, nil
}

// prepare takes the lock and sweeps what an earlier process left.
func (s *Store) prepare() (err error) {
	if s.lock, err = s.root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return err
	}
	err = syscall.Flock(int(s.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errors.New("another process has it open: run one replica, or use a store with the S3 API")
	}
	if err != nil {
		return err
	}
	if err := s.root.RemoveAll(incoming); err != nil {
		return err
	}
	return errors.Join(s.root.Mkdir(incoming, 0o700), s.sync("."))
}

// Close lets another process open the folder.
func (s *Store) Close() error {
	err := s.root.Close()
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	return err
}

// Put implements blob.Store: the content is written aside and durable before its name appears, by a link, which
// never replaces a file.
func (s *Store) Put(ctx context.Context, key blob.Key, content io.ReadSeeker) error {
	if err := errors.Join(key.Check(), ctx.Err()); err != nil {
		return err
	}
	if _, err := s.root.Lstat(key.String()); err == nil {
		return s.settle(key, content)
	}
	aside := path.Join(incoming, rand.Text())
	err := s.write(aside, content)
	if err == nil {
		err = s.link(aside, key)
	}
	if removed := s.root.Remove(aside); !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	if errors.Is(err, fs.ErrExist) {
		return s.settle(key, content)
	}
	if err != nil {
		return fmt.Errorf("cannot store blob %s: %w", key, err)
	}
	return nil
}

func (s *Store) write(aside string, content io.ReadSeeker) error {
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return err
	}
	file, err := s.root.OpenFile(aside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("cannot write into folder %s of the store: %w", incoming, failed.Err) // the name of the file is random
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// link gives a blob its name, and makes the name durable.
func (s *Store) link(aside string, key blob.Key) error {
	s.structure.Lock()
	defer s.structure.Unlock()
	name := key.String()
	if err := s.root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	if err := s.root.Link(aside, name); err != nil {
		return err
	}
	return s.syncPath(name)
}

// settle answers for a key that is taken. Its name may not be durable yet: the process that gave it may have ended.
func (s *Store) settle(key blob.Key, content io.ReadSeeker) error {
	stored, err := s.root.Open(key.String())
	if err != nil {
		return fmt.Errorf("cannot compare blob %s with what is stored: %w", key, err)
	}
	defer stored.Close() //nolint:errcheck // it is only read
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("cannot compare blob %s with what is stored: %w", key, err)
	}
	if err := blob.Settle(key, stored, content); err != nil {
		return err
	}
	s.structure.Lock()
	defer s.structure.Unlock()
	return s.syncPath(key.String())
}

// Get implements blob.Store.
func (s *Store) Get(ctx context.Context, key blob.Key) (io.ReadCloser, error) {
	if err := errors.Join(key.Check(), ctx.Err()); err != nil {
		return nil, err
	}
	file, err := s.root.Open(key.String())
	if errors.Is(err, fs.ErrNotExist) {
		err = blob.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open blob %s: %w", key, err)
	}
	return file, nil
}

// List implements blob.Store.
func (s *Store) List(ctx context.Context, workspace string) ([]blob.Info, error) {
	top := "."
	if workspace != "" {
		if err := (blob.Key{Workspace: workspace, Fence: 1, Name: "x"}).Check(); err != nil {
			return nil, err
		}
		top = workspace
	}
	var found []blob.Info
	err := fs.WalkDir(s.root.FS(), top, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, fs.ErrNotExist):
			return nil // deleted meanwhile, or a workspace without blobs
		case err != nil:
			return err
		case name == incoming:
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		key, err := blob.ParseKey(name)
		if err != nil {
			return nil //nolint:nilerr // no file of this store
		}
		info, err := entry.Info()
		if err == nil {
			found = append(found, blob.Info{Key: key, Size: info.Size(), Stored: info.ModTime()})
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot list blobs: %w", err)
	}
	return found, nil
}

// Delete implements blob.Store. Folders that are empty then are removed.
func (s *Store) Delete(ctx context.Context, key blob.Key) error {
	if err := errors.Join(key.Check(), ctx.Err()); err != nil {
		return err
	}
	s.structure.Lock()
	defer s.structure.Unlock()
	if err := s.root.Remove(key.String()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot delete blob %s: %w", key, err)
	}
	for folder := path.Dir(key.String()); folder != "."; folder = path.Dir(folder) {
		err := s.root.Remove(folder)
		if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return fmt.Errorf("cannot delete the folder of blob %s: %w", key, err)
		}
		delete(s.durable, folder)
	}
	return nil
}

// Refresh implements blob.Store.
func (s *Store) Refresh(ctx context.Context, key blob.Key) error {
	if err := errors.Join(key.Check(), ctx.Err()); err != nil {
		return err
	}
	now := time.Now()
	err := s.root.Chtimes(key.String(), now, now)
	if errors.Is(err, fs.ErrNotExist) {
		err = blob.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("cannot refresh blob %s: %w", key, err)
	}
	return nil
}

// maxDurable is how many folders are remembered as durable.
const maxDurable = 4096

// syncPath makes the name of a blob durable: in its folder, and the names of the folders above once. All are synced at once:
// the file system writes its journal once for them. The caller holds structure.
func (s *Store) syncPath(name string) error {
	fence := path.Dir(name)
	folders := []string{fence}
	var made []string
	for _, folder := range []string{path.Dir(fence), fence} {
		if !s.durable[folder] {
			made = append(made, folder)
			folders = append(folders, path.Dir(folder))
		}
	}
	failed := make([]error, len(folders))
	var all sync.WaitGroup
	for n, folder := range folders {
		all.Go(func() { failed[n] = s.sync(folder) })
	}
	all.Wait()
	if err := errors.Join(failed...); err != nil {
		return err
	}
	if len(s.durable)+len(made) > maxDurable {
		clear(s.durable)
	}
	for _, folder := range made {
		s.durable[folder] = true
	}
	return nil
}

func (s *Store) sync(folder string) error {
	opened, err := s.root.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(opened.Sync(), opened.Close())
}
