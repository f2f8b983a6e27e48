package backend

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // the protocol's checksum against damage
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"sync"
	"syscall"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// Path is the one path that is served.
const Path = "/state"

// Aside is the file of the state's folder that is written before it is renamed. It is not captured.
const Aside = ".orcon-terraform.tfstate"

const (
	// lockName is the file of the scratch folder that has the lock.
	lockName = "terraform-lock.json"
	// maxLock limits what a client may write about its lock, in bytes.
	maxLock = 64 << 10
)

// Backend is an http.Handler. Its requests are carried out one at a time.
type Backend struct {
	// State and Scratch are the folders of the state and of the keeper.
	State, Scratch string
	// Fence is that of the hold. A lock of another fence is void.
	Fence int64
	// Limit is the size of a state in bytes.
	Limit int64
	// Store returns when a checkpoint has the folder as it is.
	Store func(ctx context.Context) error

	mutex  sync.Mutex
	closed bool
}

// lock is a lock as it is stored.
type lock struct {
	Fence int64
	ID    string
	// Info is the lock as the client wrote it.
	Info json.RawMessage
}

// refusal is an error with its answer.
type refusal struct {
	status int
	body   string
}

// Error implements error.
func (r refusal) Error() string { return r.body }

func refuse(status int, format string, args ...any) error {
	return refusal{status, fmt.Sprintf(format, args...)}
}

// Close returns when no request changes anything any more.
func (b *Backend) Close() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.closed = true
}

// ServeHTTP answers GET, POST, LOCK and UNLOCK.
func (b *Backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	body, err := b.serve(w, r)
	if err != nil {
		answer := refusal{http.StatusInternalServerError, err.Error()}
		if refused, ok := errors.AsType[refusal](err); ok {
			answer = refused
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(answer.status)
		body = []byte(answer.body)
	}
	_, _ = w.Write(body) //nolint:gosec // a client that has gone needs no answer, and none is a browser
}

func (b *Backend) serve(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	switch {
	case r.URL.Path != Path:
		return nil, refuse(http.StatusNotFound, "there is no %s: use %s", r.URL.Path, Path)
	case b.closed:
		return nil, refuse(http.StatusServiceUnavailable, "the run has ended")
	case r.Method == http.MethodGet:
		return b.read()
	}
	limit := int64(maxLock)
	if r.Method == contract.MethodUpdate {
		limit = b.Limit
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, refuse(http.StatusRequestEntityTooLarge, "it exceeds %d bytes: raise spec.state.maxSize of the JobWorkspace", limit)
	}
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "cannot read the request: %v", err)
	}
	switch r.Method {
	case contract.MethodUpdate:
		return nil, b.update(r, body)
	case contract.MethodLock:
		return nil, b.take(body)
	case contract.MethodUnlock:
		return nil, b.release(body)
	}
	return nil, refuse(http.StatusMethodNotAllowed, "cannot %s the state: use GET, POST, LOCK or UNLOCK", r.Method)
}

// read returns the state: 404 if there is none.
func (b *Backend) read() ([]byte, error) {
	root, err := os.OpenRoot(b.State)
	if err != nil {
		return nil, err
	}
	defer root.Close()                                                                    //nolint:errcheck // it is only read
	file, err := root.OpenFile(contract.TerraformFile, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not block
	if errors.Is(err, fs.ErrNotExist) {
		return nil, refuse(http.StatusNotFound, "there is no state yet")
	}
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it is only read
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > b.Limit:
		return nil, fmt.Errorf("cannot read %s: it is not a file, or larger than %d bytes: let the backend alone write it",
			contract.TerraformFile, b.Limit)
	}
	return io.ReadAll(io.LimitReader(file, b.Limit))
}

// update writes the state, and returns when it cannot be lost.
func (b *Backend) update(r *http.Request, body []byte) error {
	held, err := b.held()
	if err != nil {
		return err
	}
	id := r.URL.Query().Get("ID")
	switch {
	case held == nil && id != "":
		return refuse(http.StatusConflict, "lock %s is void: run the template again", id)
	case held != nil && held.ID != id:
		return refusal{http.StatusLocked, string(held.Info)}
	}
	if sum := r.Header.Get("Content-MD5"); sum != "" {
		got := md5.Sum(body) //nolint:gosec // the protocol's checksum against damage
		if base64.StdEncoding.EncodeToString(got[:]) != sum {
			return refuse(http.StatusBadRequest, "the state was damaged on its way: its MD5 is not %s", sum)
		}
	}
	if !json.Valid(body) {
		return refuse(http.StatusBadRequest, "the state is not JSON")
	}
	if err := b.write(body); err != nil {
		return fmt.Errorf("cannot write the state: %w", err)
	}
	if err := b.Store(r.Context()); err != nil {
		return fmt.Errorf("cannot store the state: %w", err)
	}
	return nil
}

// write replaces the state: who reads the folder finds the old one or the new one.
func (b *Backend) write(body []byte) error {
	root, err := os.OpenRoot(b.State)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // each file is closed, with its error
	if err := root.Remove(Aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := root.OpenFile(Aside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(body)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return root.Rename(Aside, contract.TerraformFile)
}

// take locks the state. The same lock may be taken again: the answer may have been lost.
func (b *Backend) take(body []byte) error {
	id, err := idOf(body)
	if err != nil || id == "" {
		return errors.Join(err, refuse(http.StatusBadRequest, "cannot lock the state: the lock has no ID"))
	}
	held, err := b.held()
	switch {
	case err != nil:
		return err
	case held != nil && held.ID != id:
		return refusal{http.StatusLocked, string(held.Info)}
	}
	text, err := json.Marshal(lock{Fence: b.Fence, ID: id, Info: body})
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(b.Scratch)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // each file is closed, with its error
	if err := root.WriteFile(lockName+".new", text, 0o600); err != nil {
		return err
	}
	return root.Rename(lockName+".new", lockName)
}

// release unlocks the state. A request without a body releases any lock: a person forces it.
func (b *Backend) release(body []byte) error {
	held, err := b.held()
	if err != nil || held == nil {
		return err
	}
	id, err := idOf(body)
	if err != nil {
		return err
	}
	if id != "" && id != held.ID {
		return refusal{http.StatusConflict, string(held.Info)}
	}
	root, err := os.OpenRoot(b.Scratch)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // it is only removed
	return root.Remove(lockName)
}

// held returns the lock; nil for none.
func (b *Backend) held() (*lock, error) {
	root, err := os.OpenRoot(b.Scratch)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // it is only read
	text, err := root.ReadFile(lockName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // no lock
	}
	var held lock
	if err == nil {
		err = json.Unmarshal(text, &held)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the lock of the state: %w", err)
	}
	if held.Fence != b.Fence {
		return nil, nil // it is void
	}
	return &held, nil
}

// idOf returns the ID of a lock as a client writes it; "" for no body.
func idOf(body []byte) (string, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return "", nil
	}
	var info struct{ ID string }
	if err := json.Unmarshal(body, &info); err != nil {
		return "", refuse(http.StatusBadRequest, "cannot read the lock: %v", err)
	}
	return info.ID, nil
}
