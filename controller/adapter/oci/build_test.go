package oci_test

import (
	"bytes"
	"io"
	"log"
	"math/rand/v2"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/oci"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// contentOf returns a layer of files below /work.
func contentOf(t testing.TB, files map[string][]byte) oci.Addition {
	var tree bundle.Tree
	for name, text := range files {
		require.NoError(t, tree.Add("work/"+name, bundle.File{Content: text, Executable: strings.HasSuffix(name, ".sh")}))
	}
	return oci.Addition{Pack: func(out io.Writer) error { return archive.Pack(out, &tree) }, Folder: "/work", User: "65532:65532"}
}

// baseImage returns an image, as a file.
func baseImage(t testing.TB) oci.Image {
	image, err := random.Image(1024, 2)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "base.tar")
	require.NoError(t, tarball.WriteToFile(file, nil, image))
	read, err := oci.ReadImage(file)
	require.NoError(t, err)
	return read
}

// JOBS.md J16: a template of 4 MiB is built without an engine and bit by bit the same, and is pushed to a registry, from
// which its files come back. BenchmarkBuild measures the time.
func TestBuild(t *testing.T) {
	files := map[string][]byte{"main.tf": []byte("resource {}\n"), "bin/run.sh": []byte("#!/bin/sh\n"), "data": make([]byte, 4<<20)}
	_, _ = rand.NewChaCha8([32]byte{1}).Read(files["data"])
	base := baseImage(t)
	built, err := base.Append(contentOf(t, files))
	require.NoError(t, err)
	again, err := base.Append(contentOf(t, files))
	require.NoError(t, err)
	assert.Equal(t, built.Digest, again.Digest)
	var one, two bytes.Buffer
	require.NoError(t, built.Write(&one, "example.org/a:1"))
	require.NoError(t, again.Write(&two, "example.org/a:1"))
	assert.True(t, bytes.Equal(one.Bytes(), two.Bytes()), "bit by bit")

	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	repository := strings.TrimPrefix(server.URL, "http://") + "/shop/web"
	client := oci.Client{Pause: time.Millisecond, Untar: archive.Untar}
	named, err := client.Push(t.Context(), built, repository, "v1")
	require.NoError(t, err)
	assert.Equal(t, repository+"@"+built.Digest, named)
	r, err := bundle.ParseReference("oci://" + named)
	require.NoError(t, err)
	fetched, err := client.Base(t.Context(), r)
	require.NoError(t, err)
	assert.Equal(t, built.Digest, fetched.Digest)
	var out bytes.Buffer
	require.NoError(t, fetched.Write(&out, "example.org/a:1"))
	assert.Contains(t, tarFiles(t, out.Bytes()), "work/bin/run.sh 755 #!/bin/sh\n")
}

// tarFiles lists the files of the last layer of a saved image with mode and content, but for large ones.
func tarFiles(t *testing.T, saved []byte) string {
	image, err := tarball.Image(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(saved)), nil }, nil)
	require.NoError(t, err)
	file, err := image.ConfigFile()
	require.NoError(t, err)
	assert.Equal(t, "/work", file.Config.WorkingDir)
	assert.Equal(t, "65532:65532", file.Config.User)
	layers, err := image.Layers()
	require.NoError(t, err)
	in, err := layers[len(layers)-1].Uncompressed()
	require.NoError(t, err)
	defer in.Close()
	var lines strings.Builder
	require.NoError(t, archive.Untar(in, func(name string, f bundle.File) error {
		mode := "644"
		if f.Executable {
			mode = "755"
		}
		if len(f.Content) < 100 {
			lines.WriteString(name + " " + mode + " " + string(f.Content))
		}
		return nil
	}))
	return lines.String()
}

func TestBuildRefuses(t *testing.T) {
	_, err := oci.ReadImage(filepath.Join(t.TempDir(), "none.tar"))
	require.ErrorContains(t, err, "cannot read the image from ")
	_, err = oci.ReadImage(t.TempDir())
	require.ErrorContains(t, err, "cannot read the image from ")
	file := filepath.Join(t.TempDir(), "empty.tar")
	require.NoError(t, tarball.WriteToFile(file, nil, empty.Image))
	base, err := oci.ReadImage(file)
	require.NoError(t, err)
	_, err = base.Append(oci.Addition{Pack: func(io.Writer) error { return io.ErrUnexpectedEOF }})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = oci.Client{}.Push(t.Context(), base, "a b", "v1")
	require.ErrorContains(t, err, "cannot push to a b")
	require.ErrorContains(t, base.Write(io.Discard, "a b"), "cannot name the image")
}

func BenchmarkBuild(b *testing.B) {
	files := map[string][]byte{"data": make([]byte, 4<<20)}
	_, _ = rand.NewChaCha8([32]byte{1}).Read(files["data"])
	base := baseImage(b)
	for b.Loop() {
		_, err := base.Append(contentOf(b, files))
		require.NoError(b, err)
	}
}
