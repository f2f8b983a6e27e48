package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// filesIn returns the regular files of a folder as entries below a name, sorted.
func filesIn(folder, below string) ([]entry, error) {
	var all []entry
	err := filepath.WalkDir(folder, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%s is not a regular file: put a file there", file)
		}
		name, err := filepath.Rel(folder, file)
		all = append(all, entry{name: path.Join(below, filepath.ToSlash(name)), file: file, mode: 0o644})
		return err
	})
	return all, err
}

// tarGzip packs entries as a compressed tar without times or owners.
func tarGzip(entries []entry) ([]byte, error) {
	content, err := archive(entries)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(content); err != nil {
		return nil, fmt.Errorf("cannot compress the archive: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("cannot compress the archive: %w", err)
	}
	return b.Bytes(), nil
}

// zipped packs entries as a zip file without times.
func zipped(entries []entry) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		content, err := os.ReadFile(e.file)
		if err != nil {
			return nil, fmt.Errorf("cannot read a file of the archive: %w", err)
		}
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		header.SetMode(fs.FileMode(e.mode))
		f, err := w.CreateHeader(header)
		if err == nil {
			_, err = f.Write(content)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot add %s: %w", e.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("cannot complete the archive: %w", err)
	}
	return b.Bytes(), nil
}
