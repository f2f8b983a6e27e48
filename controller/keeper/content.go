package keeper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// laying lays the content of a run over the working directory (JOBS.md J16).
type laying struct{ *run }

// lay copies the content, if the run has one.
func (r laying) lay(ctx context.Context) error {
	switch {
	case r.hold.Content == "":
		return nil
	case r.Content == nil || r.Settings.Work == "":
		return errors.New("the runner of this place copies none: run the template in the cluster, or use a type of mode Image")
	}
	file, err := os.CreateTemp(r.Settings.Scratch, "content-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // the scratch folder goes with the run
	defer file.Close()           //nolint:errcheck // it is read to its end
	if err := r.download(ctx, "fetch the content", file, func() (io.ReadCloser, error) { return r.Content.Content(ctx) }); err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	var tree bundle.Tree
	if err := archive.Untar(file, tree.Add); err != nil {
		return err
	}
	if found := tree.Digest(); found != r.hold.Content {
		return fmt.Errorf("content %s was stored, and %s received", r.hold.Content, found)
	}
	return write(&tree, r.Settings.Work)
}

// write writes files into a folder, also in place of files that are there.
func write(tree *bundle.Tree, folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // each file is closed, with its error
	for _, name := range tree.Paths() {
		f, _ := tree.File(name)
		mode := os.FileMode(0o640)
		if f.Executable {
			mode = 0o750
		}
		if err := root.MkdirAll(path.Dir(name), 0o750); err != nil {
			return err
		}
		if err := root.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if err := root.WriteFile(name, f.Content, mode); err != nil {
			return err
		}
	}
	return nil
}
