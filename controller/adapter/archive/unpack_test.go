package archive_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// entry is one entry of a tar archive.
type entry struct {
	tar.Header
	content string
}

func tarOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		e.Size = int64(len(e.content))
		require.NoError(t, w.WriteHeader(&e.Header))
		_, err := w.Write([]byte(e.content))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func file(name, content string) entry {
	return entry{Header: tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o640}, content: content}
}

func special(name string, kind byte, link string) entry {
	return entry{Header: tar.Header{Name: name, Typeflag: kind, Linkname: link}}
}

func gzipOf(t testing.TB, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(content)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

func zipOf(t testing.TB, names ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range names {
		f, err := w.Create(name)
		require.NoError(t, err)
		if !strings.HasSuffix(name, "/") {
			_, err = f.Write([]byte("x"))
			require.NoError(t, err)
		}
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func TestUnpack(t *testing.T) {
	packed := tarOf(t, special("./a/", tar.TypeDir, ""), file("./a/b.yaml", "x"), entry{Header: tar.Header{Name: "run", Typeflag: tar.TypeReg, Mode: 0o755}})
	tests := map[string]struct {
		why    string
		packed []byte
	}{
		"Tar":  {why: "as it is", packed: packed},
		"Gzip": {why: "compressed", packed: gzipOf(t, packed)},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			tree, err := archive.Unpack(tc.packed)
			require.NoError(t, err, tc.why)
			assert.Equal(t, []string{"a/b.yaml", "run"}, tree.Paths(), tc.why)
			run, _ := tree.File("run")
			assert.True(t, run.Executable, tc.why)
		})
	}
	tree, err := archive.Unpack(zipOf(t, "a/", "a/b.yaml"))
	require.NoError(t, err)
	assert.Equal(t, []string{"a/b.yaml"}, tree.Paths())
}

// CONTENT.md X3: a link is not followed, and known as one wherever the content is packed again.
func TestUnpackLinks(t *testing.T) {
	packed := tarOf(t, file("a.yaml", "x"), special("./s", tar.TypeSymlink, "/etc"), special("h", tar.TypeLink, "/etc/passwd"))
	tree, err := archive.Unpack(packed)
	require.NoError(t, err)
	require.NoError(t, tree.Add("m", bundle.File{Link: bundle.Submodule}))
	var again bytes.Buffer
	require.NoError(t, archive.Pack(&again, &tree))
	same, err := archive.Unpack(again.Bytes())
	require.NoError(t, err)
	for _, tree := range []bundle.Tree{tree, same} {
		assert.Equal(t, []string{"a.yaml"}, tree.Paths())
		assert.Equal(t, map[string]string{"s": bundle.SymbolicLink, "h": bundle.HardLink, "m": bundle.Submodule}, tree.Links())
	}
}

// BUNDLES.md, invariant 1: truncated, traversal, device node, duplicate name, archive
// bomb, HTML.
func TestUnpackRefuses(t *testing.T) {
	good := gzipOf(t, tarOf(t, file("a.yaml", "x")))
	bomb := gzipOf(t, make([]byte, bundle.MaxBytes+4096*bundle.MaxFiles+1))
	large := tarOf(t, file("a", string(make([]byte, bundle.MaxBytes))), file("b", "x"))
	damaged := bytes.Clone(good)
	damaged[len(damaged)-6] ^= 0xff
	tests := map[string]struct {
		why    string
		packed []byte
		want   string
	}{
		"Truncated": {why: "cut off in the middle", packed: good[:len(good)-12], want: "unexpected EOF"},
		"Tail":      {why: "cut off behind all files", packed: good[:len(good)-4], want: "unexpected EOF"},
		"Damaged":   {why: "a checksum that does not fit", packed: damaged, want: "checksum"},
		"Traversal": {why: "out of the tree", packed: tarOf(t, file("../../etc/cron.d/x", "x")), want: `".."`},
		"Absolute":  {why: "the machine's own", packed: tarOf(t, file("/etc/passwd", "x")), want: "absolute"},
		"Twice":     {why: "which counts?", packed: tarOf(t, file("a", "x"), file("./a", "y")), want: "twice"},
		"Device":    {why: "no file", packed: tarOf(t, special("null", tar.TypeChar, "")), want: `"null": it is a device`},
		"Pipe":      {why: "no file", packed: tarOf(t, special("p", tar.TypeFifo, "")), want: `"p": it is no file`},
		"Bomb":      {why: "more than anybody may send", packed: bomb, want: "too large"},
		"Large":     {why: "more than a tree may hold", packed: large, want: "too large"},
		"ZipTwice":  {why: "which counts?", packed: zipOf(t, "a", "a"), want: "twice"},
		"ZipUp":     {why: "out of the tree", packed: zipOf(t, "../a"), want: `".."`},
		"ZipCut":    {why: "cut off", packed: zipOf(t, "a")[:60], want: "zip"},
		"HTML":      {why: "a page instead", packed: []byte("<!DOCTYPE html><html>"), want: "neither a tar"},
		"Nothing":   {why: "no bytes", packed: nil, want: "neither a tar"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			tree, err := archive.Unpack(tc.packed)
			require.ErrorContains(t, err, tc.want, tc.why)
			assert.Empty(t, tree.Paths(), tc.why)
		})
	}
}

// FuzzUnpack takes any bytes: whatever is unpacked lies in the tree.
func FuzzUnpack(f *testing.F) {
	f.Add(gzipOf(f, tarOf(f, file("a/b", "x"))))
	f.Add(tarOf(f, file("../a", "x"), special("l", tar.TypeSymlink, "/")))
	f.Add(zipOf(f, "a", "../b"))
	f.Add(tarOf(f, file("a", "x"), special("l", tar.TypeLink, "a"), special("m", tar.TypeSymlink, "/etc")))
	f.Fuzz(func(t *testing.T, packed []byte) {
		tree, err := archive.Unpack(packed)
		if err != nil {
			require.Empty(t, tree.Paths())
		}
		for _, name := range tree.Paths() {
			require.NoError(t, bundle.CheckPath(name))
		}
		var again bytes.Buffer
		require.NoError(t, archive.Pack(&again, &tree))
		same, err := archive.Unpack(again.Bytes())
		if len(tree.Paths())+len(tree.Links()) > 0 {
			require.NoError(t, err)
			require.Equal(t, tree.Digest(), same.Digest(), "what is packed is unpacked as it was")
		}
	})
}
