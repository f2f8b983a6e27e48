package keeper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/golang/glog"
)

// SecretSource has the secrets of a run that the kubelet does not have.
type SecretSource interface {
	// Secrets returns the values by the names of their files.
	Secrets(ctx context.Context) (map[string][]byte, error)
}

// leasing is the part of a run that fetches its secrets, where the kubelet does not (JOBS.md J14).
type leasing struct{ *run }

// lease writes the secrets into their folder.
func (l leasing) lease(ctx context.Context) error {
	if l.Secrets == nil {
		return nil
	}
	var values map[string][]byte
	err := l.persist(ctx, "fetch the secrets", func() (err error) {
		if reason := l.reason(); reason != "" {
			return fmt.Errorf("%w: %s", errGivenUp, reason)
		}
		values, err = l.Secrets.Secrets(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot fetch the secrets: %w", err)
	}
	root, err := os.OpenRoot(l.Settings.Secrets)
	if err != nil {
		return fmt.Errorf("cannot write the secrets: %w", err)
	}
	defer root.Close() //nolint:errcheck // each file is closed, with its error
	for name, value := range values {
		if err := root.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("cannot write secret %s: %w", name, err)
		}
		if err := root.WriteFile(name, value, 0o444); err != nil {
			return fmt.Errorf("cannot write secret %s: %w", name, err)
		}
	}
	return l.link(root)
}

// link links secrets of folder Stored, so that a run sees their changes there.
func (l leasing) link(folder *os.Root) error {
	if l.Settings.Stored == "" {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(l.Settings.Stored, "[^.]*")) // the kubelet's own begin with a dot
	for _, file := range files {
		if failed := folder.Symlink(file, filepath.Base(file)); !errors.Is(failed, os.ErrExist) { // an earlier keeper's
			err = errors.Join(err, failed)
		}
	}
	if err != nil {
		return fmt.Errorf("cannot link the secrets: %w", err)
	}
	return nil
}

// resume has the secrets for a keeper that was started again: a restart of the machine has removed them. Without them nothing
// of log files and outputs leaves the run.
func (l leasing) resume(ctx context.Context) {
	if l.Secrets == nil {
		return
	}
	entries, err := os.ReadDir(l.Settings.Secrets)
	if err == nil && len(entries) == 0 {
		err = l.lease(ctx)
	}
	if l.unknown = err; err != nil {
		glog.Errorf("log files and outputs of the run are dropped, since values of secrets could not be found in them: %v", err)
	}
}
