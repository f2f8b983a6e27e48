package keeper_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
)

// kept has the content of a run, after it has failed so many times.
type kept struct {
	packed   []byte
	failures int
	failing  error
}

// Content implements keeper.ContentSource.
func (s *kept) Content(context.Context) (io.ReadCloser, error) {
	if s.failures--; s.failures >= 0 {
		return nil, s.failing
	}
	return io.NopCloser(bytes.NewReader(s.packed)), nil
}

// packed returns a content, and its digest.
func packed(t *testing.T, files map[string]string) (*kept, string) {
	t.Helper()
	var tree bundle.Tree
	for name, content := range files {
		require.NoError(t, tree.Add(name, bundle.File{Content: []byte(content), Executable: filepath.Ext(name) == ".sh"}))
	}
	var out bytes.Buffer
	require.NoError(t, archive.Pack(&out, &tree))
	return &kept{packed: out.Bytes(), failing: errors.New("the store is down")}, tree.Digest()
}

// JOBS.md J16: content lies over the files of the image when the program starts, also where the store is down for a moment.
func TestContent(t *testing.T) {
	b := newBench(t, `sub/run.sh >$STATE/ran; cat image main >>$STATE/ran; echo more >>main; test ! -x main`)
	for name, text := range map[string]string{"image": "of the image\n", "main": "of the image"} {
		require.NoError(t, os.WriteFile(filepath.Join(b.path("work"), name), []byte(text), 0o400))
	}
	content, digest := packed(t, map[string]string{"sub/run.sh": "#!/bin/sh\necho ran\n", "main": "of the content\n"})
	content.failures = 2
	b.contents = content
	m := &model{next: hold()}
	m.next.Content = digest
	code, err := b.run(t, m, b.store(t), nil)
	require.NoError(t, err)
	require.Zero(t, code)
	ran, err := os.ReadFile(b.path("state/ran"))
	require.NoError(t, err)
	assert.Equal(t, "ran\nof the image\nof the content\n", string(ran))
}

// hostile returns an archive with an entry that leads out of it.
func hostile(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	require.NoError(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "../main"}))
	require.NoError(t, w.Close())
	return out.Bytes()
}

// A run whose content is not there, is another one, or cannot be written never starts its program, and changes no state.
func TestContentRefused(t *testing.T) {
	for label, tc := range map[string]struct {
		why, says string
		spoil     func(s *kept, b bench)
	}{
		"Gone":    {"it was deleted", "there is no such blob", func(s *kept, _ bench) { s.failures, s.failing = 1, blob.ErrNotFound }},
		"Other":   {"the store is not what it was", "was stored, and sha256:", func(s *kept, _ bench) { s.packed = bytes.ReplaceAll(s.packed, []byte("x"), []byte("y")) }},
		"Cut":     {"the store is damaged", "unexpected EOF", func(s *kept, _ bench) { s.packed = s.packed[:512] }},
		"Outside": {"it leads out", `cannot use path`, func(s *kept, _ bench) { s.packed = hostile(t) }},
		"Folder":  {"the image has a folder there", "directory not empty", func(_ *kept, b bench) { _ = os.MkdirAll(filepath.Join(b.path("work"), "main", "a"), 0o700) }},
		"Unable":  {"an agent that cannot", "the runner of this place copies none", func(*kept, bench) {}},
		"NoWork":  {"it has no folder", "no such file or directory", func(_ *kept, b bench) { _ = os.Remove(b.path("work")) }},
	} {
		t.Run(label, func(t *testing.T) {
			b := newBench(t, `touch $STATE/ran`)
			content, digest := packed(t, map[string]string{"main": "x"})
			tc.spoil(content, b)
			if b.contents = content; label == "Unable" {
				b.contents = nil
			}
			m := &model{next: hold()}
			m.next.Content = digest
			_, err := b.run(t, m, b.store(t), nil)
			require.ErrorContains(t, err, "cannot copy the content of the template: ", tc.why)
			require.ErrorContains(t, err, tc.says, tc.why)
			e := only(t, m)
			assert.Equal(t, job.None, e.Outcome, tc.why)
			assert.False(t, e.Process.Ran, tc.why)
		})
	}
}
