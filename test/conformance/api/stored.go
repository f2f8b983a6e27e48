package api

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive/state"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/logs"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/selftest"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// Result returns how the first Run of a Workspace ended, and what it stored.
func (a *API) Result(ctx context.Context, uid string) (selftest.Result, error) {
	w := a.Workspace(uid)
	r := selftest.Result{
		Code: w.Last.Exit.Code, Outcome: w.Last.Outcome, Killed: w.Last.Exit.Cause == job.Killed, Outputs: a.ReportOf(w.Last.Run.UID).Outputs,
	}
	var err, problem error
	r.State, err = a.Files(ctx, w.State.Blob)
	r.Logs, r.Whole, problem = a.Logs(ctx, uid, 1)
	return r, errors.Join(err, problem)
}

// stateLimit bounds the states that are read, in bytes.
const stateLimit = 8 << 20

// Files returns the files of a stored state.
func (a *API) Files(ctx context.Context, archive workspace.Blob) (map[string]string, error) {
	all := map[string]string{}
	if archive.Key == "" {
		return all, nil
	}
	folder, err := os.MkdirTemp(a.Folder, "restored-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // of a test
	if err := a.restore(ctx, archive, folder); err != nil {
		return nil, err
	}
	err = fs.WalkDir(os.DirFS(folder), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := fs.ReadFile(os.DirFS(folder), path)
		all[path] = string(text)
		return err
	})
	return all, err
}

// restore writes a stored state into a folder.
func (a *API) restore(ctx context.Context, archive workspace.Blob, folder string) error {
	key, err := blob.ParseKey(archive.Key)
	if err != nil {
		return err
	}
	in, err := a.States.Get(ctx, key)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // it is only read
	file, err := os.CreateTemp(a.Folder, "archive-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // of a test
	defer file.Close()           //nolint:errcheck // it is removed
	if _, err = io.Copy(file, in); err != nil {
		return err
	}
	return state.Restore(folder, file, archive.Digest, stateLimit)
}

// Logs returns the logs of a fence by their names, and whether they have their ends and no hole.
func (a *API) Logs(ctx context.Context, uid string, fence int64) (all map[string]string, whole bool, err error) {
	run := logs.Attempt{Workspace: uid, Fence: fence}
	names, err := logs.List(ctx, a.Store, run)
	all, whole = map[string]string{}, err == nil
	for _, name := range names {
		r, err := logs.NewReader(a.Store, run, name)
		if err != nil {
			return nil, false, err
		}
		var text strings.Builder
		for piece, err := range r.Pieces(ctx) {
			if err != nil {
				return nil, false, err
			}
			text.Write(piece.Content)
		}
		all[name] = text.String()
		whole = whole && r.Ended() && len(r.Holes()) == 0
	}
	return all, whole, err
}
