package oci_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/oci"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// layerOf packs files, given as name and content in turn.
func layerOf(t *testing.T, files ...string) v1.Layer {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for i := 0; i < len(files); i += 2 {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: files[i], Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(files[i+1]))}))
		_, err := w.Write([]byte(files[i+1]))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(out.Bytes())), nil })
	require.NoError(t, err)
	return layer
}

// untar is the least that reads what layerOf packs.
func untar(in io.Reader, add func(string, bundle.File) error) error {
	entries := tar.NewReader(in)
	for {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, in)
			return err
		}
		if err != nil {
			return err
		}
		content, err := io.ReadAll(entries)
		if err != nil {
			return err
		}
		if err := add(entry.Name, bundle.File{Content: content}); err != nil {
			return err
		}
	}
}

// served starts a registry behind a handler and pushes an image of the layers to it.
func served(t *testing.T, before func(w http.ResponseWriter, r *http.Request) (done bool), layers ...v1.Layer) (host, digest string) {
	t.Helper()
	store, pushed := registry.New(), false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !pushed || before == nil || !before(w, r) {
			store.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	host = strings.TrimPrefix(server.URL, "http://")
	image, err := mutate.AppendLayers(empty.Image, layers...)
	require.NoError(t, err)
	tag, err := name.NewTag(host + "/shop/app:v1")
	require.NoError(t, err)
	require.NoError(t, remote.Write(tag, image))
	pushed = true
	hash, err := image.Digest()
	require.NoError(t, err)
	return host, hash.String()
}

func client() oci.Client { return oci.Client{Untar: untar, Pause: time.Millisecond} }

func at(host, version, digest string) bundle.Reference {
	return bundle.Reference{Origin: bundle.Image, Location: host + "/shop/app", Version: version, Digest: digest}
}

// A later layer counts, and takes away what earlier ones had.
func TestFetch(t *testing.T) {
	host, digest := served(t, nil,
		layerOf(t, "manifests/a.yaml", "old", "manifests/b.yaml", "b", "old/c", "c", "old/d", "d"),
		layerOf(t, "manifests/a.yaml", "new", "manifests/.wh.b.yaml", "", "old/.wh..wh..opq", "", "old/e", "e"))
	for _, reference := range []bundle.Reference{at(host, "", digest), at(host, "v1", ""), at(host, "wrong", digest)} {
		tree, resolved, err := client().Fetch(t.Context(), reference)
		require.NoError(t, err)
		assert.Equal(t, digest, resolved)
		assert.Equal(t, []string{"manifests/a.yaml", "old/e"}, tree.Paths())
		a, _ := tree.File("manifests/a.yaml")
		assert.Equal(t, "new", string(a.Content))
	}
}

// A layer that takes away all of the top leaves nothing of the layers below.
func TestFetchWithoutAllBelow(t *testing.T) {
	host, digest := served(t, nil, layerOf(t, "a.yaml", "a", "old/b.yaml", "b"), layerOf(t, ".wh..wh..opq", "", "c.yaml", "c"))
	tree, _, err := client().Fetch(t.Context(), at(host, "", digest))
	require.NoError(t, err)
	assert.Equal(t, []string{"c.yaml"}, tree.Paths())
}

func TestFetchCredentials(t *testing.T) {
	host, digest := served(t, func(w http.ResponseWriter, r *http.Request) bool {
		if user, password, _ := r.BasicAuth(); user == "me" && password == "hush" || r.Header.Get("Authorization") == "Bearer hush" {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}, layerOf(t, "a", "x"))
	c := client()
	c.Credentials = bundle.Credentials{Username: "me", Password: "hush"}
	_, _, err := c.Fetch(t.Context(), at(host, "", digest))
	require.NoError(t, err)

	c.Credentials.Password = "hush hush"
	_, _, err = c.Fetch(t.Context(), at(host, "", digest))
	require.ErrorContains(t, err, "401")
	assert.NotContains(t, err.Error(), "hush", "BUNDLES.md, invariant 10")
}

// A mirror is asked first, without the registry's credentials; the registry itself where
// the mirror has it not.
func TestFetchMirrors(t *testing.T) {
	asked := false
	mirror, digest := served(t, func(_ http.ResponseWriter, r *http.Request) bool {
		asked = true
		assert.Empty(t, r.Header.Get("Authorization"))
		return false
	}, layerOf(t, "a", "x"))
	origin, other := served(t, nil, layerOf(t, "b", "x"))
	c := client()
	c.Mirrors = map[string][]string{"registry.example.org": {mirror}, origin: {mirror}}
	c.Credentials = bundle.Credentials{Username: "me", Password: "hush"}
	tree, _, err := c.Fetch(t.Context(), at("registry.example.org", "", digest))
	require.NoError(t, err)
	assert.Equal(t, []string{"a"}, tree.Paths())
	assert.True(t, asked)

	tree, _, err = c.Fetch(t.Context(), at(origin, "", other))
	require.NoError(t, err)
	assert.Equal(t, []string{"b"}, tree.Paths())
}

// BUNDLES.md, invariant 1: a fetch that fails gives nothing and says why.
func TestFetchRefuses(t *testing.T) {
	isBlob := func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/blobs/") }
	answer := func(status int) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(status); return true }
	}
	write := func(text string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool { _, _ = w.Write([]byte(text)); return true }
	}
	blobs := func(then func(http.ResponseWriter, *http.Request) bool) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool { return isBlob(r) && then(w, r) }
	}
	tests := map[string]struct {
		why    string
		layer  []string
		before func(http.ResponseWriter, *http.Request) bool
		want   string
	}{
		"NotFound": {why: "404", before: answer(http.StatusNotFound), want: "404"},
		"Broken":   {why: "500", before: answer(http.StatusInternalServerError), want: "500"},
		"Page":     {why: "a page for a manifest", before: write("<html>"), want: "does not match"},
		"Manifest": {why: "another manifest", before: write(`{"schemaVersion": 2}`), want: "does not match"},
		"Layer":    {why: "another layer", before: blobs(write("other")), want: "layer 1 of 1"},
		"NoLayer":  {why: "404 for a layer", before: blobs(answer(http.StatusNotFound)), want: "404"},
		"Truncated": {why: "a layer that is cut off", before: blobs(func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte("\x1f\x8b"))
			panic(http.ErrAbortHandler)
		}), want: "layer 1 of 1"},
		"Traversal": {why: "out of the tree", layer: []string{"../a", "x"}, want: `".."`},
		"Twice":     {why: "which?", layer: []string{"a", "x", "a", "y"}, want: "twice"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			files := tc.layer
			if files == nil {
				files = []string{"a", strings.Repeat("x", 10_000)}
			}
			host, digest := served(t, tc.before, layerOf(t, files...))
			tree, _, err := client().Fetch(t.Context(), at(host, "", digest))
			require.ErrorContains(t, err, tc.want, tc.why)
			assert.Empty(t, tree.Paths(), tc.why)
		})
	}
}

// BUNDLES.md, invariant 1: whoever waits sets a limit.
func TestFetchHangs(t *testing.T) {
	host, digest := served(t, func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true }, layerOf(t, "a", "x"))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, _, err := client().Fetch(ctx, at(host, "", digest))
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// open is a registry of a private network without TLS, which asks for a password.
type open struct{ sent []string }

// RoundTrip implements http.RoundTripper.
func (o *open) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == "https" {
		return nil, errors.New("no TLS")
	}
	o.sent = append(o.sent, r.Header.Get("Authorization"))
	return &http.Response{
		StatusCode: http.StatusUnauthorized, Request: r, Body: http.NoBody,
		Header: http.Header{"Www-Authenticate": {`Basic realm="x"`}},
	}, nil
}

// CONTENT.md X6: a registry at an address of a private network, which the library asks without TLS, gets no credentials.
func TestFetchCredentialsWithoutTLS(t *testing.T) {
	for _, credentials := range []bundle.Credentials{{Username: "me", Password: "hush"}, {Token: "hush"}} {
		registry := &open{}
		c := oci.Client{Transport: registry, Credentials: credentials}
		_, _, err := c.Fetch(t.Context(), bundle.Reference{Location: "10.0.0.1:5000/shop", Version: "v1"})
		require.ErrorContains(t, err, "the server, or one that it names, has no TLS, and credentials are not sent without it")
		assert.NotEmpty(t, registry.sent)
		assert.Empty(t, strings.Join(registry.sent, ""))
	}
}
