package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// The names in the folder of unpack: the content of the template, and its users.
const (
	content = "work"
	passwd  = "passwd"
	group   = "group"
)

// runUnpack copies what a template finds and the image may not have in a form that fits.
func runUnpack(args []string) (int, error) {
	if len(args) != 1 {
		return contract.Misused, fmt.Errorf("unpack needs one FOLDER, not %d arguments: see job-runner --help", len(args))
	}
	if err := unpack("/", args[0]); err != nil {
		return contract.Misused, fmt.Errorf("cannot unpack the image of the template: %w: let user %d read all files of its %s, and "+
			"have folders, files and links alone there", err, contract.User, contract.Work)
	}
	return contract.Success, nil
}

// unpack copies the content of an image, so that it can be written, and its users. An earlier attempt may have been cut
// off.
func unpack(root, to string) error {
	work := filepath.Join(to, content)
	if err := os.RemoveAll(work); err != nil { //nolint:gosec // the folder is an argument
		return err
	}
	err := os.CopyFS(work, os.DirFS(filepath.Join(root, contract.Work)))
	if errors.Is(err, fs.ErrNotExist) {
		err = os.MkdirAll(work, 0o750) //nolint:gosec // the folder is an argument
	}
	for name, entries := range map[string]func(string) string{passwd: contract.Passwd, group: contract.Group} {
		image, problem := os.ReadFile(filepath.Join(root, "etc", name)) //nolint:gosec // of the image
		if errors.Is(problem, fs.ErrNotExist) {
			problem = nil
		}
		file := filepath.Join(to, name)
		err = errors.Join(err, problem, os.WriteFile(file, []byte(entries(string(image))), 0o644)) //nolint:gosec // every program reads it
	}
	return err
}
