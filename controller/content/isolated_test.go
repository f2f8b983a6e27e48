package content_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/web"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content/render"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/destination"
)

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"

// desk is an Isolated whose work is done in this process, and counted.
type desk struct {
	*content.Isolated

	t                *testing.T
	fetches, renders int
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t}
	work := content.Worker(render.Output)
	counted := func(count *int) content.Run {
		return func(ctx context.Context, in io.Reader, out io.Writer) error {
			*count++
			return work(ctx, in, out)
		}
	}
	d.Isolated = &content.Isolated{Fetching: counted(&d.fetches), Rendering: counted(&d.renders), Cache: content.Cache{Folder: t.TempDir()}}
	return d
}

// serve serves one file as an archive, and returns the source of it, pinned.
func (d *desk) serve(name, text string) content.Source {
	d.t.Helper()
	var tree bundle.Tree
	require.NoError(d.t, tree.Add(name, bundle.File{Content: []byte(text)}))
	var packed bytes.Buffer
	require.NoError(d.t, archive.Pack(&packed, &tree))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(packed.Bytes()) }))
	d.t.Cleanup(server.Close)
	return content.Source{Reference: bundle.Reference{Origin: bundle.HTTP, Location: server.URL + "/a.tar", Digest: web.Sum(packed.Bytes())}}
}

// fetch fetches, and closes the content when the test ends.
func (d *desk) fetch(sources ...content.Source) *content.Fetched {
	d.t.Helper()
	f, err := d.Fetch(d.t.Context(), sources, d.configMaps)
	require.NoError(d.t, err)
	d.t.Cleanup(func() { assert.NoError(d.t, f.Close()) })
	return f
}

func (d *desk) configMaps(_ context.Context, names []string) (bundle.Tree, error) {
	var tree bundle.Tree
	return tree, tree.Add(names[0]+".yaml", bundle.File{Content: []byte(configMap)})
}

// left are the names of the files in the cache.
func (d *desk) left() []string {
	d.t.Helper()
	entries, err := os.ReadDir(d.Cache.Folder)
	require.NoError(d.t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Sources of several origins are laid over each other and rendered; pinned ones are fetched once, and
// nothing else stays on disk.
func TestIsolated(t *testing.T) {
	d := newDesk(t)
	pinned, tracked := d.serve("pinned.yaml", configMap), d.serve("b.yaml", strings.Replace(configMap, "name: a", "name: b", 1))
	digest := tracked.Digest
	tracked.Digest, tracked.Destination = "", "more"
	pinned.Destination = "pinned"
	f := d.fetch(pinned, tracked)
	assert.Equal(t, digest, f.Resolved[1].Digest)
	assert.Equal(t, 2, d.fetches)
	assert.Len(t, d.left(), 1)
	out, err := d.Render(t.Context(), f, content.Options{Path: "more"})
	require.NoError(t, err)
	objects, err := content.Decode(out.Objects)
	require.NoError(t, err)
	require.Len(t, objects, 1)
	assert.Equal(t, "b", objects[0].ID().Name)

	again := d.fetch(pinned, tracked)
	assert.Equal(t, 3, d.fetches, "the pinned one is kept")
	assert.Equal(t, f.Digest(), again.Digest())
	assert.Equal(t, f.Size(), again.Size())
	tracked.Destination = "elsewhere"
	assert.NotEqual(t, f.Digest(), d.fetch(pinned, tracked).Digest(), "where it is laid counts")
	maps := d.fetch(content.Source{Reference: bundle.Reference{Origin: bundle.ConfigMaps, Location: "one,two"}})
	assert.Equal(t, 4, d.fetches, "objects of the cluster are read by this process")
	out, err = d.Render(t.Context(), maps, content.Options{})
	require.NoError(t, err)
	assert.Contains(t, string(out.Objects), `"ConfigMap"`)
	assert.Len(t, d.left(), 1)
}

// Errors name what failed, keep what callers act on, and leave nothing behind.
func TestIsolatedFails(t *testing.T) {
	limit := exceeds("needs more than 1 MiB of memory")
	tests := map[string]struct {
		why    string
		change func(d *desk, s *content.Source)
		want   string
		check  func(error) bool
	}{
		"Refused": {"destinations are judged by the child (TRUST.md R4)", func(d *desk, _ *content.Source) {
			d.Destinations = func(context.Context) (destination.Rules, error) { return destination.Rules{}, nil }
		}, "which is refused", func(err error) bool { _, ok := errors.AsType[*destination.RefusedError](err); return ok }},
		"Unknown": {"which servers are refused cannot be read", func(d *desk, _ *content.Source) {
			d.Destinations = func(context.Context) (destination.Rules, error) { return destination.Rules{}, io.EOF }
		}, "cannot find out which servers are refused", nil},
		"Other":  {"another archive is there", func(_ *desk, s *content.Source) { s.Digest = "sha256:" + strings.Repeat("0", 64) }, "its checksum is", nil},
		"Folder": {"a folder is misspelt", func(_ *desk, s *content.Source) { s.Folder = "deploi" }, `cannot find folder "deploi"`, nil},
		"Limit": {"a limit is the content's fault", func(d *desk, _ *content.Source) {
			d.Fetching = func(context.Context, io.Reader, io.Writer) error { return limit }
		}, limit.Error(), content.Exceeded},
		"Killed": {"whatever ends a process else is not", func(d *desk, _ *content.Source) {
			d.Fetching = func(context.Context, io.Reader, io.Writer) error { return io.ErrUnexpectedEOF }
		}, "cannot have a child process do this", func(err error) bool { return errors.Is(err, content.ErrProcess) && !content.Exceeded(err) }},
		"Silent": {"it ended well, and wrote nothing", func(d *desk, _ *content.Source) {
			d.Fetching = func(context.Context, io.Reader, io.Writer) error { return nil }
		}, "cannot read its answer", func(err error) bool { return errors.Is(err, content.ErrProcess) }},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			d := newDesk(t)
			s := d.serve("a.yaml", configMap)
			tc.change(d, &s)
			_, err := d.Fetch(t.Context(), []content.Source{s}, d.configMaps)
			require.ErrorContains(t, err, tc.want, tc.why)
			require.ErrorContains(t, err, "cannot fetch "+s.String(), tc.why)
			assert.True(t, tc.check == nil || tc.check(err), tc.why)
			assert.Empty(t, d.left(), tc.why)
		})
	}
}

// exceeds is an error about a limit, as the sandbox returns it.
type exceeds string

// Error returns the text.
func (e exceeds) Error() string { return string(e) }

// Exceeded reports that it is about a limit.
func (exceeds) Exceeded() bool { return true }

// Values of Secrets reach the child in its request, and come back in no error (TRUST.md R5).
func TestIsolatedQuotesNothing(t *testing.T) {
	d := newDesk(t)
	f := d.fetch(d.serve("a.yaml", configMap))
	values := content.ValuesFile{Name: "Secret shop, key values.yaml", Text: []byte("password: [hush"), Secret: true}
	_, err := d.Render(t.Context(), f, content.Options{Values: []content.ValuesFile{values}})
	require.ErrorContains(t, err, "cannot read the values of Secret shop, key values.yaml")
	assert.NotContains(t, err.Error(), "hush")
	assert.NotErrorIs(t, err, content.ErrProcess)
}
