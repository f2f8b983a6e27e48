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

// logFiles are the log files of an earlier run, as far as they are stored.
type logFiles struct {
	Blobs

	from logs.Attempt
	// folder is where they are restored.
	folder string
}

// restoreLogs writes the log files of the last run into their folder, where the template wants them (JOBS-DESIGN.md 14).
func restoreLogs(ctx context.Context, r *run) error {
	if r.hold.LogsFence == 0 {
		return nil
	}
	files := logFiles{r.Blobs, logs.Attempt{Workspace: r.hold.Workspace, Fence: r.hold.LogsFence}, r.Settings.Logs}
	err := r.repeat(ctx, "restore the log files", func() error {
		if reason := r.reason(); reason != "" {
			return fmt.Errorf("%w: %s", errGivenUp, reason)
		}
		return files.restore(ctx)
	})
	if err != nil {
		return fmt.Errorf("cannot restore the log files: %w", err)
	}
	return nil
}

// restore writes all files. An earlier try may have been cut off.
func (f logFiles) restore(ctx context.Context) error {
	names, err := logs.List(ctx, f, f.from)
	for _, name := range names {
		if file, is := strings.CutPrefix(name, contract.Logs+"/"); is && err == nil {
			err = f.write(ctx, name, file)
		}
	}
	return err
}

// write writes one file.
func (f logFiles) write(ctx context.Context, name, file string) error {
	in, err := logs.NewReader(f, f.from, name)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(f.folder)
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
