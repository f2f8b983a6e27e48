package foreign

import (
	"archive/tar"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/stretchr/testify/require"
)

// Program is what an image runs: a static program, with arguments.
type Program struct {
	File string
	// As is its path in the image; in /bin, which is PATH, without one.
	As   string
	Args []string
	// Files are the folders that lie beside it in the root folder, by their names there.
	Files map[string]string
}

// Images makes images in one file, which it returns, by the names that a chart has for them.
func Images(t testing.TB, images map[string]Program) string {
	t.Helper()
	layers, all := map[string]v1.Layer{}, map[name.Tag]v1.Image{}
	for reference, p := range images {
		key := fmt.Sprint(p.File, p.path(), p.Files)
		if layers[key] == nil {
			files := p.tar(t)
			layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil })
			require.NoError(t, err)
			layers[key] = layer
		}
		tag, err := name.NewTag(reference)
		require.NoError(t, err)
		all[tag] = imageOf(t, layers[key], append([]string{p.path()}, p.Args...))
	}
	file := filepath.Join(t.TempDir(), "images.tar")
	require.NoError(t, tarball.MultiWriteToFile(file, all))
	return file
}

// imageOf returns an image of one layer.
func imageOf(t testing.TB, layer v1.Layer, entrypoint []string) v1.Image {
	t.Helper()
	image, err := mutate.AppendLayers(empty.Image, layer)
	require.NoError(t, err)
	config, err := image.ConfigFile()
	require.NoError(t, err)
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config = v1.Config{Entrypoint: entrypoint, User: "65532:65532", Env: []string{"PATH=/bin"}}
	image, err = mutate.ConfigFile(image, config)
	require.NoError(t, err)
	return image
}

// path returns the program's path in the image.
func (p Program) path() string { return cmp.Or(p.As, "/bin/"+filepath.Base(p.File)) }

// tar returns the files of the image.
func (p Program) tar(t testing.TB) []byte {
	t.Helper()
	var files bytes.Buffer
	w := tar.NewWriter(&files)
	require.NoError(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777}))
	add(t, w, p.File, strings.TrimPrefix(p.path(), "/"))
	for folder, from := range p.Files {
		entries, err := os.ReadDir(from)
		require.NoError(t, err)
		for _, e := range entries {
			add(t, w, filepath.Join(from, e.Name()), folder+"/"+e.Name())
		}
	}
	require.NoError(t, w.Close())
	return files.Bytes()
}

// add writes a file to a tar.
func add(t testing.TB, w *tar.Writer, file, at string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: at, Mode: 0o755, Size: int64(len(text))}))
	_, err = w.Write(text)
	require.NoError(t, err)
}
