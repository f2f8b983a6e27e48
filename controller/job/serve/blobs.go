package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/runner"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/contents"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/log"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// put receives an archive of a fence that the caller has claimed, also when it is past. The content is received whole,
// and compared with its digest, before the store gets it.
func (a *API) put(w http.ResponseWriter, r *http.Request, c Caller) error {
	key, err := keyOf(r, c)
	if err == nil && !strings.HasPrefix(key.Name, statePrefix) && !strings.HasPrefix(key.Name, planPrefix) {
		err = fmt.Errorf("cannot store blob %s: %w: its name does not begin with %s or %s", key, workspace.ErrInvalid, statePrefix, planPrefix)
	}
	if err == nil {
		err = a.owned(r.Context(), c, key.Fence)
	}
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(a.Limits.Folder, "orcon-blob-")
	if err != nil {
		return fmt.Errorf("cannot receive blob %s: %w", key, err)
	}
	defer os.Remove(file.Name()) //nolint:errcheck // the folder is a temporary one
	defer file.Close()           //nolint:errcheck // the store has its own copy
	digest := sha256.New()
	if _, err := io.Copy(io.MultiWriter(file, digest), http.MaxBytesReader(w, r.Body, a.Limits.Blob)); err != nil {
		return fmt.Errorf("cannot receive blob %s: %w", key, err)
	}
	if err := same(r, hex.EncodeToString(digest.Sum(nil))); err != nil {
		return fmt.Errorf("cannot receive blob %s: %w", key, err)
	}
	if err := a.Store.Put(r.Context(), key, file); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// same returns an error if what was received is not what was sent. It is not final: the connection may have changed it.
func same(r *http.Request, received string) error {
	switch sent := r.Header.Get(runner.Digest); sent {
	case received:
		return nil
	case "":
		return fmt.Errorf("%w: header %s is missing", workspace.ErrInvalid, runner.Digest)
	default:
		return fmt.Errorf("digest %s was sent, and %s received", sent, received)
	}
}

// keyOf returns the key of a request for a blob.
func keyOf(r *http.Request, c Caller) (blob.Key, error) {
	fence, err := number("fence", r.PathValue("fence"))
	if err != nil {
		return blob.Key{}, err
	}
	key := blob.Key{Workspace: c.Workspace, Fence: fence, Name: r.PathValue("name")}
	if err := key.Check(); err != nil {
		return key, fmt.Errorf("%w: %w", workspace.ErrInvalid, err)
	}
	return key, nil
}

// get sends a blob that the Workspace names, a part of the logs of its last run, or what the caller has stored.
func (a *API) get(w http.ResponseWriter, r *http.Request, c Caller) error {
	key, err := keyOf(r, c)
	if err != nil {
		return err
	}
	stored, err := a.Workspaces.Get(r.Context(), c.Workspace)
	named := stored.Workspace
	logs := key.Fence == named.Last.Fence && strings.HasPrefix(key.Name, log.Prefix)
	if err == nil && !logs && !named.Names(key.String()) {
		err = a.owned(r.Context(), c, key.Fence)
	}
	if err != nil {
		return err
	}
	return sender{a.Store, a.Runs}.send(w, r, key)
}

// sender sends what is stored.
type sender struct {
	store blob.Store
	runs  Runs
}

// content sends the content of the caller's run.
func (s sender) content(w http.ResponseWriter, r *http.Request, c Caller) error {
	run, err := s.runs.Frozen(r.Context(), c.Run.UID)
	if err != nil {
		return err
	}
	if run.Content == "" {
		return fmt.Errorf("cannot send the content of %s: %w: its image has it", c.Run, blob.ErrNotFound)
	}
	return s.send(w, r, contents.Key(run.Namespace, run.Content))
}

// send sends a blob.
func (s sender) send(w http.ResponseWriter, r *http.Request, key blob.Key) error {
	in, err := s.store.Get(r.Context(), key)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // it is only read
	w.Header().Set("Content-Type", "application/octet-stream")
	if _, err := io.Copy(w, in); err != nil {
		glog.Warningf("cannot send blob %s: %v", key, err)
		panic(http.ErrAbortHandler) // so that the receiver never takes a part for the whole
	}
	return nil
}

// list lists what the caller has stored below a fence, or what the last run has.
func (a *API) list(w http.ResponseWriter, r *http.Request, c Caller) error {
	fence, err := number("fence", r.PathValue("fence"))
	if err != nil {
		return err
	}
	stored, err := a.Workspaces.Get(r.Context(), c.Workspace)
	if err == nil && fence != stored.Workspace.Last.Fence {
		err = a.owned(r.Context(), c, fence)
	}
	if err != nil {
		return err
	}
	all, err := a.Store.Below(r.Context(), c.Workspace, fence, "")
	if err != nil {
		return err
	}
	answer := runner.Blobs{Blobs: []runner.Blob{}}
	for _, one := range all {
		answer.Blobs = append(answer.Blobs, runner.Blob{Name: one.Key.Name, Size: one.Size})
	}
	return write(w, http.StatusOK, answer)
}

// received reads a body that is small, and compares it with its digest.
func received(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	content, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err == nil {
		sum := sha256.Sum256(content)
		err = same(r, hex.EncodeToString(sum[:]))
	}
	if err != nil {
		return nil, errors.Join(errors.New("cannot receive the chunk"), err)
	}
	return content, nil
}
