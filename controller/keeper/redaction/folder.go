package redaction

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/redact"
)

// Folder is the folder of the secrets of a run, each one a file. Only one goroutine may use it.
type Folder struct {
	// Path is "" for a run without secrets.
	Path string

	values redact.Values
	// read are the files as they were read.
	read map[string]fs.FileInfo
}

// Values returns the values of all secrets that are there, or were: each call looks for files that have changed. After an
// error it has the values that could be read.
func (f *Folder) Values() (*redact.Values, error) {
	if f.Path == "" {
		return &f.values, nil
	}
	entries, err := os.ReadDir(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return &f.values, nil
	}
	if err != nil {
		return &f.values, fmt.Errorf("cannot look for the secrets to redact: %w", err)
	}
	for _, e := range entries {
		err = errors.Join(err, f.learn(filepath.Join(f.Path, e.Name())))
	}
	return &f.values, err
}

// learn reads a file, unless it is as it was. One that the user of the run may not read cannot be in its output.
func (f *Folder) learn(path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return known(err)
	}
	before := f.read[path]
	if before != nil && os.SameFile(before, info) && before.ModTime().Equal(info.ModTime()) && before.Size() == info.Size() {
		return nil
	}
	text, err := os.ReadFile(path) //nolint:gosec // of the folder of secrets
	if err != nil {
		return known(err)
	}
	f.values.Learn(string(text))
	if f.read == nil {
		f.read = map[string]fs.FileInfo{}
	}
	f.read[path] = info
	return nil
}

// known returns an error unless it means that there is no value to read.
func known(err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return fmt.Errorf("cannot read a secret to redact: %w", err)
}
