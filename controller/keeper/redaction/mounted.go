package redaction

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/redact"
)

// Mounted are the secrets of a run, each one a file of a folder. Only one goroutine may use it.
type Mounted struct {
	// Path is that of the folder; "" for a run without secrets.
	Path string

	values redact.Values
	// read are the files as they were read.
	read map[string]fs.FileInfo
}

// Values returns the values of all secrets that are there, or were: each call looks for files that have changed. After an
// error it has the values that could be read.
func (m *Mounted) Values() (*redact.Values, error) {
	if m.Path == "" {
		return &m.values, nil
	}
	entries, err := os.ReadDir(m.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return &m.values, nil
	}
	if err != nil {
		return &m.values, fmt.Errorf("cannot look for the secrets to redact: %w", err)
	}
	for _, e := range entries {
		err = errors.Join(err, m.learn(filepath.Join(m.Path, e.Name())))
	}
	return &m.values, err
}

// learn reads a file, unless it is as it was. One that the user of the run may not read cannot be in its output.
func (m *Mounted) learn(path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return known(err)
	}
	before := m.read[path]
	if before != nil && os.SameFile(before, info) && before.ModTime().Equal(info.ModTime()) && before.Size() == info.Size() {
		return nil
	}
	text, err := os.ReadFile(path) //nolint:gosec // of the folder of secrets
	if err != nil {
		return known(err)
	}
	m.values.Learn(string(text))
	if m.read == nil {
		m.read = map[string]fs.FileInfo{}
	}
	m.read[path] = info
	return nil
}

// known returns an error unless it means that there is no value to read.
func known(err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return fmt.Errorf("cannot read a secret to redact: %w", err)
}
