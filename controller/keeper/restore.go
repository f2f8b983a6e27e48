package keeper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/logs"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// restoreLogs writes the log files of an earlier run into their folder, as far as they are stored (JOBS-DESIGN.md 14).
func (r *run) restoreLogs(ctx context.Context) error {
	if r.hold.LogsFence == 0 {
		return nil
	}
	from := logs.Attempt{Workspace: r.hold.Workspace, Fence: r.hold.LogsFence}
	err := r.repeat(ctx, "restore the log files", func() error {
		if reason := r.reason(); reason != "" {
			return fmt.Errorf("%w: %s", errGivenUp, reason)
		}
		names, err := logs.List(ctx, r.Blobs, from)
		for _, name := range names {
			if file, is := strings.CutPrefix(name, contract.Logs+"/"); is && err == nil {
				err = r.restoreLog(ctx, from, name, file)
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot restore the log files: %w", err)
	}
	return nil
}

// restoreLog writes one log file. An earlier try may have been cut off.
func (r *run) restoreLog(ctx context.Context, from logs.Attempt, name, file string) error {
	in, err := logs.NewReader(r.Blobs, from, name)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(r.Settings.Logs)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // the file is closed, with its error
	if err := root.MkdirAll(path.Dir(file), 0o750); err != nil {
		return err
	}
	out, err := root.Create(file)
	if err != nil {
		return err
	}
	for piece, problem := range in.Pieces(ctx) {
		if err = problem; err == nil {
			_, err = out.Write(piece.Content)
		}
		if err != nil {
			break
		}
	}
	return errors.Join(err, out.Close())
}
