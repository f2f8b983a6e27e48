package people_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/contents"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/people"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// tarred returns a tgz of entries.
func tarred(t *testing.T, entries ...tar.Header) string {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for _, head := range entries {
		head.Mode = 0o644
		require.NoError(t, w.WriteHeader(&head))
		_, err := w.Write(make([]byte, head.Size))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, z.Close())
	return out.String()
}

// zipped returns a zip archive of files, by their modes.
func zipped(t *testing.T, files map[string]fs.FileMode) string {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for name, mode := range files {
		head := &zip.FileHeader{Name: name, Method: zip.Deflate}
		head.SetMode(mode)
		_, err := w.CreateHeader(head)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.String()
}

// give pushes a content of ann for JobTemplate ns/tofu.
func (b *bench) give(t *testing.T, packed string) (int, string) {
	t.Helper()
	return b.send(t, request{person: "ann", method: http.MethodPut, path: wire.Path("ns", wire.Templates, "tofu", wire.Contents), body: packed})
}

// stored returns the digests of the contents of namespace ns.
func (b *bench) stored(t *testing.T) (digests []string) {
	t.Helper()
	all, err := contents.List(t.Context(), b.store, "ns")
	require.NoError(t, err)
	for _, one := range all {
		digests = append(digests, one.Digest)
	}
	return digests
}

// JOBS.md J16: content is known by the digest of its files, whatever archive it came in, and a push is recorded.
func TestContent(t *testing.T) {
	b := newBench(t)
	var digest string
	for label, packed := range map[string]string{
		"Zip": zipped(t, map[string]fs.FileMode{"a/run.sh": 0o644}), "Tgz": tarred(t, tar.Header{Typeflag: tar.TypeReg, Name: "./a/run.sh"}),
	} {
		code, text := b.give(t, packed)
		require.Equal(t, http.StatusOK, code, text)
		var c wire.PushedContent
		require.NoError(t, json.Unmarshal([]byte(text), &c))
		assert.Equal(t, []string{"a/run.sh"}, c.Files, label)
		if digest == "" {
			digest = c.Digest
		}
		assert.Equal(t, digest, c.Digest, label)
	}
	assert.Equal(t, []string{digest}, b.stored(t), "once")
	assert.Equal(t, "ContentPushed ns/tofu ann: pushed the content "+digest+" ", b.journal()[0])
	assert.Equal(t, wire.Templates, b.deeds[0].Resource)
	assert.Equal(t, "t", b.deeds[0].UID)
}

// JOBS.md J16: all of an archive is refused where one entry is, with the place and the cure, and what is stored stays.
func TestHostileContent(t *testing.T) {
	b := newBench(t)
	code, text := b.give(t, zipped(t, map[string]fs.FileMode{"a": 0o644}))
	require.Equal(t, http.StatusOK, code, text)
	before := b.stored(t)
	reg := func(name string) tar.Header { return tar.Header{Typeflag: tar.TypeReg, Name: name} }
	bomb := tar.Header{Typeflag: tar.TypeReg, Name: "zeros", Size: bundle.MaxBytes}
	many := make([]tar.Header, bundle.MaxFiles+1)
	for i := range many {
		many[i] = reg(fmt.Sprintf("f%d", i))
	}
	for label, tc := range map[string]struct {
		why, packed, says string
		reason            metav1.StatusReason
	}{
		"Absolute":  {"it would lie elsewhere", tarred(t, reg("good"), reg("/etc/passwd")), `cannot use path "/etc/passwd": it is absolute`, metav1.StatusReasonBadRequest},
		"Upwards":   {"it leads out", tarred(t, reg("a/../../b")), `cannot use path "a/../../b"`, metav1.StatusReasonBadRequest},
		"ZipUp":     {"in a zip too", zipped(t, map[string]fs.FileMode{"../b": 0o644}), `cannot use path "../b"`, metav1.StatusReasonBadRequest},
		"Link":      {"it leads anywhere", tarred(t, tar.Header{Typeflag: tar.TypeSymlink, Name: "l", Linkname: "/etc"}), `cannot use "l": it is a symbolic link: replace it with a file`, metav1.StatusReasonBadRequest},
		"HardLink":  {"as well", tarred(t, tar.Header{Typeflag: tar.TypeLink, Name: "l", Linkname: "a"}), `cannot use "l": it is a hard link`, metav1.StatusReasonBadRequest},
		"ZipLink":   {"in a zip too", zipped(t, map[string]fs.FileMode{"l": 0o777 | fs.ModeSymlink}), `cannot use "l": it is a symbolic link`, metav1.StatusReasonBadRequest},
		"Device":    {"it is no content", tarred(t, tar.Header{Typeflag: tar.TypeBlock, Name: "d"}), `cannot use "d": it is a device: pack files only`, metav1.StatusReasonBadRequest},
		"Bomb":      {"it is small until it is unpacked", tarred(t, bomb, tar.Header{Typeflag: tar.TypeReg, Name: "more", Size: 1}), "exceed 64 MiB", metav1.StatusReasonRequestEntityTooLarge},
		"Many":      {"each file costs", tarred(t, many...), "there are 10000 files already", metav1.StatusReasonRequestEntityTooLarge},
		"Twice":     {"which one counts?", tarred(t, reg("a"), reg("a")), `cannot use path "a" twice`, metav1.StatusReasonBadRequest},
		"Cut":       {"the connection broke", tarred(t, bomb)[:200], "cannot unpack the archive", metav1.StatusReasonBadRequest},
		"Empty":     {"nothing to run", tarred(t), "it has no file: pack the folder", metav1.StatusReasonBadRequest},
		"NoArchive": {"a slip", "hello", "it is neither a tar archive", metav1.StatusReasonBadRequest},
		"Long":      {"bounded", strings.Repeat("x", bundle.MaxBytes+1), "which may have 64 MiB", metav1.StatusReasonRequestEntityTooLarge},
	} {
		t.Run(label, func(t *testing.T) {
			code, text := b.give(t, tc.packed)
			refused(t, text, code, tc.reason, tc.says)
			assert.Equal(t, before, b.stored(t), tc.why)
		})
	}
	assert.Len(t, b.journal(), 1)
}

// A store that fails is an answer that may be tried again.
func TestContentStoreFails(t *testing.T) {
	var tree bundle.Tree
	require.NoError(t, tree.Add("a", bundle.File{}))
	name := contents.Key("ns", tree.Digest()).Name
	b := newBench(t, func(a *people.API) { a.Store = &failing{Store: a.Store, put: name} })
	code, text := b.give(t, zipped(t, map[string]fs.FileMode{"a": 0o644}))
	refused(t, text, code, metav1.StatusReasonServiceUnavailable, "the disk is full")
	assert.Empty(t, b.journal())
}
