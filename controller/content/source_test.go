package content_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content/render"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Content that was fetched with credentials is served from the cache to those alone who have them, also
// where processes fetch it (TRUST.md R3).
func TestIsolatedCacheIsForWhoCouldFetch(t *testing.T) {
	d := newDesk(t)
	open := d.serve("a.yaml", configMap)
	private := httptest.NewTLSServer(http.NotFoundHandler())
	defer private.Close()
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: private.Certificate().Raw}))
	credentials := []bundle.Credentials{
		{}, {Token: "a"}, {Token: "b"}, {Username: "a"}, {Username: "a", Password: "a"}, {PrivateKey: "a", KnownHosts: "a"},
		{PrivateKey: "a", KnownHosts: "b"}, {PrivateKey: "b", KnownHosts: "a"}, {Password: "a"}, {CA: authority},
	}
	for range 2 {
		for _, c := range credentials {
			s := open
			s.Credentials = c
			d.fetch(s)
		}
	}
	assert.Equal(t, len(credentials), d.fetches, "each was fetched once")
	assert.Len(t, d.left(), len(credentials))
	for _, name := range d.left() {
		assert.Regexp(t, `^[0-9a-f]{64}-[0-9a-f]{64}\.tar$`, name, "no credential is part of a name")
	}
	other := open
	other.Folder = "deploy"
	_, err := d.Fetch(t.Context(), []content.Source{other}, nil)
	require.ErrorContains(t, err, `"deploy"`, "another part of the content is another source")
}

// What was damaged in the cache is fetched again, and so is what was cut off.
func TestIsolatedCacheIsVerified(t *testing.T) {
	damage := map[string]func(t *testing.T, file string){
		"Changed": func(t *testing.T, file string) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file, bytes.Replace(text, []byte("ConfigMap"), []byte("Namespace"), 1), 0o600))
		},
		"Cut":   func(t *testing.T, file string) { require.NoError(t, os.Truncate(file, 100)) },
		"Empty": func(t *testing.T, file string) { require.NoError(t, os.Truncate(file, 0)) },
		"Gone":  func(t *testing.T, file string) { require.NoError(t, os.Remove(file)) },
	}
	for label, do := range damage {
		t.Run(label, func(t *testing.T) {
			d := newDesk(t)
			s := d.serve("a.yaml", configMap)
			first := d.fetch(s)
			do(t, filepath.Join(d.Cache.Folder, d.left()[0]))
			again := d.fetch(s)
			assert.Equal(t, 2, d.fetches)
			assert.Equal(t, first.Digest(), again.Digest())
			out, err := d.Render(t.Context(), again, content.Options{})
			require.NoError(t, err)
			assert.Contains(t, string(out.Objects), "ConfigMap")
		})
	}
}

// A cache that cannot be written to fails a fetch with the reason; nothing is left open.
func TestIsolatedWithoutAFolder(t *testing.T) {
	d := newDesk(t)
	s := d.serve("a.yaml", configMap)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	d.Cache.Folder = file
	_, err := d.Fetch(t.Context(), []content.Source{s}, d.configMaps)
	require.ErrorContains(t, err, "cannot make the cache")
	_, err = d.Fetch(t.Context(), []content.Source{{Reference: bundle.Reference{Origin: bundle.ConfigMaps, Location: "a"}}}, d.configMaps)
	require.ErrorContains(t, err, "cannot make the cache")
	assert.Zero(t, d.fetches)
}

// ConfigMaps that cannot be read stop a fetch, and the error keeps its cause.
func TestIsolatedConfigMaps(t *testing.T) {
	d := newDesk(t)
	denied := errors.New("forbidden")
	s := content.Source{Reference: bundle.Reference{Origin: bundle.ConfigMaps, Location: "one,two"}}
	_, err := d.Fetch(t.Context(), []content.Source{s}, func(_ context.Context, names []string) (bundle.Tree, error) {
		assert.Equal(t, []string{"one", "two"}, names)
		return bundle.Tree{}, denied
	})
	require.ErrorIs(t, err, denied)
	require.ErrorContains(t, err, "cannot fetch configmaps:one,two")
	assert.NotErrorIs(t, err, content.ErrProcess)
	assert.Empty(t, d.left())
}

// Sources that contradict each other, or are too large together, are refused; those before are closed.
func TestIsolatedLayers(t *testing.T) {
	d := newDesk(t)
	file, folder := d.serve("a", "x"), d.serve("a/b.yaml", configMap)
	f := d.fetch(file, folder)
	_, err := d.Render(t.Context(), f, content.Options{})
	require.ErrorContains(t, err, `"a" is a file, not a folder`)
	folder.Destination = "other"
	f = d.fetch(file, folder)
	out, err := d.Render(t.Context(), f, content.Options{Path: "other"})
	require.NoError(t, err)
	assert.Contains(t, string(out.Objects), "ConfigMap")

	large := d.serve("b", strings.Repeat("x", bundle.MaxBytes-4096))
	_, err = d.Fetch(t.Context(), []content.Source{large, large}, d.configMaps)
	require.ErrorIs(t, err, bundle.ErrLimit)
	require.ErrorContains(t, err, "all sources together exceed 64 MiB")
}

// Each option that renders otherwise reaches the process.
func TestIsolatedOptions(t *testing.T) {
	d := newDesk(t)
	chart := map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "values.yaml": "who: default\n",
		"templates/a.yaml": configMap + "data: {who: {{ .Values.who }}, at: {{ .Release.Namespace }}, name: {{ .Release.Name }}}\n",
	}
	var sources []content.Source
	for name, text := range chart {
		sources = append(sources, d.serve(name, text))
	}
	f := d.fetch(sources...)
	tests := map[string]struct {
		options content.Options
		want    string
	}{
		"Defaults":  {content.Options{}, `{"at":"","name":"shop","who":"default"}`},
		"Name":      {content.Options{Name: "blue", Namespace: "north"}, `{"at":"north","name":"blue","who":"default"}`},
		"Values":    {content.Options{Values: []content.ValuesFile{{Name: "a", Text: []byte("who: file")}}}, `"who":"file"`},
		"LastCount": {content.Options{Values: []content.ValuesFile{{Text: []byte("who: one")}, {Text: []byte("who: two"), Secret: true}}}, `"who":"two"`},
		"Set":       {content.Options{Set: []string{"who=set"}}, `"who":"set"`},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			out, err := d.Render(t.Context(), f, tc.options)
			require.NoError(t, err)
			objects, err := content.Decode(out.Objects)
			require.NoError(t, err)
			written, err := objects[0].Canonical()
			require.NoError(t, err)
			assert.Contains(t, strings.ReplaceAll(string(written), "null", `""`), tc.want)
		})
	}
	_, err := d.Render(t.Context(), f, content.Options{Format: "none"})
	require.ErrorContains(t, err, `"none"`)
	_, err = d.Render(t.Context(), f, content.Options{Watch: []string{"a"}})
	require.ErrorContains(t, err, "namespaces to watch are given")
}

// The end of a context is the error of a process that ends by it.
func TestIsolatedEndsWithItsContext(t *testing.T) {
	d := newDesk(t)
	ctx, end := context.WithCancelCause(t.Context())
	cause := errors.New("superseded")
	d.Fetching = func(ctx context.Context, in io.Reader, _ io.Writer) error {
		_, _ = io.Copy(io.Discard, in)
		end(cause)
		return fmt.Errorf("killed: %w", context.Cause(ctx))
	}
	_, err := d.Fetch(ctx, []content.Source{d.serve("a.yaml", configMap)}, nil)
	require.ErrorIs(t, err, cause)
	assert.NotErrorIs(t, err, content.ErrProcess)
}

// Each format gives the same objects in a process as here, and what is wrong in it the same error.
func TestIsolatedFormats(t *testing.T) {
	tests := map[string]struct {
		why   string
		files map[string]string
	}{
		"Plain":       {"numbers keep their kind", map[string]string{"a.yaml": configMap + "one: 1\nhalf: 0.5\nlarge: 9007199254740993\nlist: [null, true, \"1\"]\n"}},
		"Kustomize":   {"a kustomization", map[string]string{"a.yaml": configMap, "kustomization.yaml": "namePrefix: p-\nresources: [a.yaml]\n"}},
		"Broken":      {"YAML that is none", map[string]string{"a.yaml": "kind: ["}},
		"Nothing":     {"no manifest", map[string]string{"README.md": "x"}},
		"Outside":     {"a kustomization that would load something", map[string]string{"kustomization.yaml": "resources: [https://example.org/a.yaml]\n"}},
		"Incomplete":  {"a chart without its dependency", map[string]string{"Chart.yaml": "apiVersion: v2\nname: a\nversion: 1.0.0\ndependencies: [{name: b, version: 1.0.0}]\n"}},
		"TwiceNamed":  {"two objects with one name", map[string]string{"a.yaml": configMap, "b.yaml": configMap}},
		"NoTemplates": {"a chart of nothing", map[string]string{"Chart.yaml": "apiVersion: v2\nname: a\nversion: 1.0.0\n"}},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			d := newDesk(t)
			var sources []content.Source
			var tree bundle.Tree
			for name, text := range tc.files {
				sources = append(sources, d.serve(name, text))
				require.NoError(t, tree.Add(name, bundle.File{Content: []byte(text)}))
			}
			here, wrong := render.Render(t.Context(), tree, content.Options{Namespace: "shop"})
			out, err := d.Render(t.Context(), d.fetch(sources...), content.Options{Namespace: "shop"})
			if wrong != nil {
				require.EqualError(t, err, wrong.Error(), tc.why)
				return
			}
			require.NoError(t, err, tc.why)
			objects, err := content.Decode(out.Objects)
			require.NoError(t, err, tc.why)
			assert.Equal(t, here.Objects, objects, tc.why)
		})
	}
}

// What a deployment renders to is bounded where it is rendered (TRUST.md U6).
func TestIsolatedRendersALittle(t *testing.T) {
	d := newDesk(t)
	_, err := d.Render(t.Context(), d.fetch(d.serve("a.yaml", configMap+"data: {a: "+strings.Repeat("x", content.MaxRendered)+"}\n")), content.Options{})
	require.ErrorIs(t, err, bundle.ErrLimit)
	require.ErrorContains(t, err, "more than 8 MiB")
}

// Content that is closed twice, or has no layer, is closed.
func TestFetchedClose(t *testing.T) {
	d := newDesk(t)
	f, err := d.Fetch(t.Context(), []content.Source{d.serve("a.yaml", configMap)}, nil)
	require.NoError(t, err)
	assert.Positive(t, f.Size())
	require.NoError(t, f.Close())
	assert.Zero(t, f.Size())
	require.NoError(t, f.Close())
	empty := &content.Fetched{}
	require.NoError(t, empty.Close())
}
