package people

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive/state"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/evidence"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// received is an archive in a temporary file, in the form that a capture writes.
type received struct {
	state.Summary

	file *os.File
	// name is that of its blob, by its own content.
	name string
}

// receive copies an archive into a temporary file and verifies it.
func (a *API) receive(in io.Reader) (received, error) {
	file, err := os.CreateTemp(a.Limits.Folder, "orcon-state-")
	if err != nil {
		return received{}, fmt.Errorf("cannot receive the state: %w", err)
	}
	got := received{file: file}
	digest := sha256.New()
	if _, err = io.Copy(io.MultiWriter(file, digest), in); err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		got.remove()
		return received{}, fmt.Errorf("cannot receive the state: %w", err)
	}
	if got.Summary, err = state.Verify(file, a.Limits.State); err != nil {
		got.remove()
		return received{}, unreadable(err)
	}
	got.name = evidence.StatePrefix + hex.EncodeToString(digest.Sum(nil)) + ".tar.zst"
	return got, nil
}

// errUnreadable is wrapped where an archive has not the form that a capture writes.
var errUnreadable = fmt.Errorf("%w: it is not an archive of a state", workspace.ErrInvalid)

// unreadable returns the error of an archive that was received whole.
func unreadable(err error) error {
	if errors.Is(err, state.ErrTooLarge) {
		return err
	}
	return fmt.Errorf("%w: %w: pack a folder with `orcon job state push`", errUnreadable, err)
}

// remove removes the temporary file.
func (r received) remove() {
	_ = r.file.Close() // it is only read
	_ = os.Remove(r.file.Name())
}
