package content_test

import (
	"bytes"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/web"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// packed returns an archive with one file.
func packed(t *testing.T, at, text string) []byte {
	t.Helper()
	var tree bundle.Tree
	require.NoError(t, tree.Add(at, bundle.File{Content: []byte(text)}))
	var out bytes.Buffer
	require.NoError(t, archive.Pack(&out, &tree))
	return out.Bytes()
}

// sum returns the checksum of an archive.
func sum(packed []byte) string { return strings.TrimPrefix(web.Sum(packed), "sha256:") }

// parsed returns the source of a reference's text.
func parsed(t *testing.T, text string) content.Source {
	t.Helper()
	r, err := bundle.ParseReference(text)
	require.NoError(t, err)
	return content.Source{Reference: r}
}

// Several sources, of several origins, are laid over each other.
func TestFetch(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "a.yaml"), []byte("local"), 0o600))
	file := filepath.Join(t.TempDir(), "b.tar")
	require.NoError(t, os.WriteFile(file, packed(t, "b.yaml", "archive"), 0o600))
	remoteArchive := packed(t, "deploy/base/a.yaml", "http")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(remoteArchive) }))
	defer server.Close()
	images := httptest.NewServer(registry.New())
	defer images.Close()
	imageFile := filepath.Join(t.TempDir(), "c.tar")
	require.NoError(t, os.WriteFile(imageFile, packed(t, "c.yaml", "image"), 0o600))
	layer, err := tarball.LayerFromFile(imageFile)
	require.NoError(t, err)
	image, err := mutate.AppendLayers(empty.Image, layer)
	require.NoError(t, err)
	tag, err := name.NewTag(strings.TrimPrefix(images.URL, "http://") + "/shop:v1")
	require.NoError(t, err)
	require.NoError(t, remote.Write(tag, image))
	digest, err := image.Digest()
	require.NoError(t, err)

	over := parsed(t, server.URL+"/x.tar#folder=deploy/base")
	inside := parsed(t, "oci://"+tag.String())
	inside.Destination = "images"
	f := content.Fetcher{Track: true}
	tree, resolved, err := f.Fetch(t.Context(), parsed(t, folder), parsed(t, file), over, inside)
	require.NoError(t, err)
	assert.Equal(t, []string{"a.yaml", "b.yaml", "images/c.yaml"}, tree.Paths())
	a, _ := tree.File("a.yaml")
	assert.Equal(t, "http", string(a.Content), "the later source counts")
	assert.Equal(t, folder, resolved[0].String())
	assert.Equal(t, server.URL+"/x.tar#sha256="+strings.TrimPrefix(web.Sum(remoteArchive), "sha256:")+"&folder=deploy/base", resolved[2].String())
	assert.Equal(t, "oci://"+tag.String()+"@"+digest.String(), resolved[3].String())

	f.Track = false
	_, _, err = f.Fetch(t.Context(), inside)
	require.ErrorContains(t, err, "add @sha256:DIGEST, or track it")
	_, _, err = f.Fetch(t.Context(), parsed(t, resolved[3].String()))
	require.NoError(t, err)
	_, _, err = f.Fetch(t.Context(), parsed(t, "configmaps:a"))
	require.ErrorContains(t, err, "works only in a BundleDeployment")
	_, _, err = f.Fetch(t.Context(), parsed(t, strings.Replace(resolved[2].String(), "deploy/base", "deploy/bass", 1)))
	require.ErrorContains(t, err, `"deploy/bass"`)
}

// A web server may send one JSON file, such as a bundle of Qontract, in place of an archive (FLEET.md D5).
func TestFetchJSON(t *testing.T) {
	text := "\n{\"data\": {}}"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }))
	defer server.Close()
	for at, want := range map[string]string{
		"/bundles/bundle.json?token=a/b.json": "bundle.json", "/bundle": "content.json", "/%2e%2e%2fa.json": "a.json", "/": "content.json", "/a%5cb.json": "",
	} {
		tree, resolved, err := content.Fetcher{Track: true}.Fetch(t.Context(), parsed(t, server.URL+"/api"+at))
		if want == "" {
			require.ErrorContains(t, err, "a backslash")
			continue
		}
		require.NoError(t, err, at)
		assert.Equal(t, []string{want}, tree.Paths(), at)
		file, _ := tree.File(want)
		assert.Equal(t, text, string(file.Content))
		assert.Equal(t, web.Sum([]byte(text)), resolved[0].Digest)
	}
	_, _, err := content.Fetcher{}.Fetch(t.Context(), parsed(t, server.URL+"/bundle.json#sha256="+strings.Repeat("0", 64)))
	require.ErrorContains(t, err, "its checksum is")
	text = "[]"
	_, _, err = content.Fetcher{Track: true}.Fetch(t.Context(), parsed(t, server.URL+"/bundle.json"))
	require.ErrorIs(t, err, archive.ErrFormat)
}

// What a program holds is content like any other; one that holds nothing says so.
func TestFetchBuiltin(t *testing.T) {
	held := fstest.MapFS{"selfsigned/a.yaml": {Data: []byte("held")}}
	tree, resolved, err := content.Fetcher{Builtin: held}.Fetch(t.Context(), parsed(t, "builtin:selfsigned"))
	require.NoError(t, err)
	file, _ := tree.File("selfsigned/a.yaml")
	assert.Equal(t, "held", string(file.Content))
	assert.Equal(t, "builtin:selfsigned", resolved[0].String())
	_, _, err = content.Fetcher{}.Fetch(t.Context(), parsed(t, "builtin:selfsigned"))
	require.ErrorContains(t, err, "works only in the command orcon")
}

// Pinned content is fetched once; what is damaged in the cache is fetched again, and
// what failed is not kept.
func TestFetchCache(t *testing.T) {
	text, asked := packed(t, "a.yaml", "x"), 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = w.Write(text)
	}))
	defer server.Close()
	source := parsed(t, server.URL+"/a.tar#sha256="+strings.TrimPrefix(web.Sum(text), "sha256:"))
	other := parsed(t, server.URL+"/a.tar#sha256="+strings.Repeat("0", 64))
	f := content.Fetcher{Cache: content.Cache{Folder: filepath.Join(t.TempDir(), "cache")}}
	_, _, err := f.Fetch(t.Context(), other)
	require.Error(t, err)
	fetch := func() int {
		asked = 0
		tree, resolved, err := f.Fetch(t.Context(), source)
		require.NoError(t, err)
		assert.Equal(t, []string{"a.yaml"}, tree.Paths())
		assert.Equal(t, source.Reference, resolved[0])
		return asked
	}
	assert.Equal(t, 1, fetch())
	assert.Equal(t, 0, fetch())
	files, err := filepath.Glob(filepath.Join(f.Cache.Folder, "*"))
	require.NoError(t, err)
	require.Len(t, files, 1, "and nothing else is left there")
	require.NoError(t, os.WriteFile(files[0], packed(t, "a.yaml", "evil"), 0o600))
	assert.Equal(t, 1, fetch())
}

// Who signed for the server is told with the source.
func TestFetchAuthority(t *testing.T) {
	text := packed(t, "a.yaml", "x")
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(text) }))
	defer server.Close()
	source := parsed(t, server.URL+"/a.tar#sha256="+strings.TrimPrefix(web.Sum(text), "sha256:"))
	source.Credentials.CA = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	_, _, err := content.Fetcher{}.Fetch(t.Context(), source)
	require.NoError(t, err)
	source.Credentials.CA = "no certificate"
	_, _, err = content.Fetcher{}.Fetch(t.Context(), source)
	require.ErrorContains(t, err, "ca.crt")
}

// A source is a file, if that holds manifests.
func TestSourceIsOneFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.yaml")
	require.NoError(t, os.WriteFile(file, []byte(configMap), 0o600))
	tree, _, err := content.Fetcher{}.Fetch(t.Context(), parsed(t, file))
	require.NoError(t, err)
	assert.Equal(t, []string{"t.yaml"}, tree.Paths())
}
