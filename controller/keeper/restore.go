package keeper

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/logs"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/log"
)

// logFiles are the log files of an earlier run, as far as they are stored.
type logFiles struct {
	Blobs

	from logs.Attempt
	// folder is where they are restored.
	folder string
}

// restore writes all files (JOBS-DESIGN.md 14). An earlier try may have been cut off. What was damaged where it is stored is
// left out: no further try could read it.
func (f logFiles) restore(ctx context.Context) error {
	if f.from.Fence == 0 {
		return nil
	}
	names, err := logs.List(ctx, f, f.from)
	if errors.Is(err, log.ErrDamaged) {
		glog.Warningf("some log files may not be restored: %v", err)
		err = nil
	}
	for _, name := range names {
		file, is := strings.CutPrefix(name, contract.Logs+"/")
		if !is || err != nil {
			continue
		}
		err = f.write(ctx, name, file)
		if taken(err) || errors.Is(err, log.ErrDamaged) {
			glog.Warningf("log file %q is not restored: %v", file, err)
			err = nil
		}
	}
	return err
}

// taken reports whether a name is that of a folder, or a folder that of a file: the template has replaced one by the
// other.
func taken(err error) bool {
	return errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR)
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
