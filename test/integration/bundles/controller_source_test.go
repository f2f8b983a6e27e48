package bundles

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// origin serves content over HTTP, and answers otherwise as long as it fails.
type origin struct {
	*httptest.Server

	content http.Handler
	failing atomic.Bool
	// instead answers while it fails; done is false where it lets the content through.
	instead func(w http.ResponseWriter, r *http.Request) (done bool)
}

func newOrigin(t *testing.T, content http.Handler) *origin {
	t.Helper()
	o := &origin{content: content}
	o.Server = httptest.NewServer(o)
	t.Cleanup(func() {
		o.CloseClientConnections() // one may hang
		o.Close()
	})
	return o
}

// ServeHTTP implements http.Handler.
func (o *origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !o.failing.Load() || o.instead == nil || !o.instead(w, r) {
		o.content.ServeHTTP(w, r)
	}
}

// publisher makes a server, and a function that puts a packed tar archive there and
// returns the pinned reference to it.
type publisher func(t *testing.T) (o *origin, publish func(packed []byte) string)

// archives serves archives as they are.
func archives(t *testing.T) (*origin, func([]byte) string) {
	t.Helper()
	folder := t.TempDir()
	o := newOrigin(t, http.FileServer(http.Dir(folder)))
	return o, func(packed []byte) string {
		sum := fmt.Sprintf("%x", sha256.Sum256(packed))
		require.NoError(t, os.WriteFile(filepath.Join(folder, sum+".tgz"), packed, 0o600))
		return o.URL + "/" + sum + ".tgz#sha256=" + sum
	}
}

// images serves images of one layer.
func images(t *testing.T) (*origin, func([]byte) string) {
	t.Helper()
	o := newOrigin(t, registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	return o, func(packed []byte) string {
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed)), nil })
		require.NoError(t, err)
		image, err := mutate.AppendLayers(empty.Image, layer)
		require.NoError(t, err)
		digest, err := image.Digest()
		require.NoError(t, err)
		at, err := name.NewDigest(strings.TrimPrefix(o.URL, "http://") + "/shop@" + digest.String())
		require.NoError(t, err)
		require.NoError(t, remote.Write(at, image))
		return "oci://" + at.String()
	}
}

// pack packs the entries of a tar archive, with gzip.
func pack(t *testing.T, entries ...tarEntry) []byte {
	t.Helper()
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	w := tar.NewWriter(compressed)
	for _, e := range entries {
		head := tar.Header{Name: e.name, Typeflag: e.kind, Mode: 0o644, Size: int64(len(e.content))}
		require.NoError(t, w.WriteHeader(&head))
		_, err := w.Write([]byte(e.content))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, compressed.Close())
	return out.Bytes()
}

// tarEntry is a file where it has no kind.
type tarEntry struct {
	name, content string
	kind          byte
}

// fault is a way in which a source fails.
type fault struct {
	why string
	// instead is what the server answers; nil is what was published.
	instead func(w http.ResponseWriter, r *http.Request) bool
	// beside is what lies in the archive beside the manifests.
	beside []tarEntry
	// reason is FetchFailed where it is "".
	reason string
	// archive and image are what is said of them; "" is a fault that the other alone has.
	archive, image string
}

// isContent reports whether a request is for the files, and not for what tells which
// they are.
func isContent(r *http.Request) bool {
	return !strings.Contains(r.URL.Path, "/manifests/") && r.URL.Path != "/v2/"
}

// faults are those of BUNDLES.md, invariant 1.
func faults() map[string]fault {
	status := func(code int) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(code); return true }
	}
	text := func(kind, text string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write([]byte(text))
			return true
		}
	}
	content := func(then func(http.ResponseWriter, *http.Request) bool) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool { return isContent(r) && then(w, r) }
	}
	cut := func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte("\x1f\x8b"))
		_ = http.NewResponseController(w).Flush() // it may be gone already
		panic(http.ErrAbortHandler)
	}
	hang := func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true }
	bomb := string(make([]byte, bundle.MaxBytes+1))
	return map[string]fault{
		"not-found": {why: "404", instead: status(http.StatusNotFound), archive: "404 Not Found: check the address", image: "404"},
		"broken":    {why: "500, each time", instead: status(http.StatusInternalServerError), archive: "500", image: "500"},
		"no-layer":  {why: "404 for a layer alone", instead: content(status(http.StatusNotFound)), image: "404"},
		"page":      {why: "a page for people", instead: text("text/html", "<!DOCTYPE html><html>"), archive: "the answer is a web page", image: "does not match"},
		"bytes":     {why: "other bytes than the digest's", instead: content(text("application/gzip", "other")), archive: ", not sha256:", image: "layer 1 of 1"},
		"manifest":  {why: "another image than the digest's", instead: text("application/json", `{"schemaVersion": 2}`), image: "does not match"},
		"cut":       {why: "cut off, each time", instead: content(cut), archive: "the connection broke after", image: "layer 1 of 1"},
		"hang":      {why: "not a byte, until another reference is given", instead: content(hang), beside: []tarEntry{{name: "README"}}, reason: "Fetching", archive: "still fetching http://127.0.0.1:", image: "still fetching oci://127.0.0.1:"},
		"bomb":      {why: "small on the way, and large behind it", beside: []tarEntry{{name: "x", content: bomb}}, archive: "too large", image: "too large"},
		"traversal": {why: "out of the tree", beside: []tarEntry{{name: "../../etc/cron.d/x", content: "x"}}, archive: `".."`, image: `".."`},
		"device":    {why: "no file", beside: []tarEntry{{name: "null", kind: tar.TypeChar}}, archive: `"null": it is a device`, image: `"null": it is a device`},
		"twice":     {why: "which counts?", beside: []tarEntry{{name: "all.yaml"}}, archive: "twice", image: "twice"},
		"text":      {why: "no manifest", beside: []tarEntry{{name: "b.yaml", content: "kind: ["}}, reason: "RenderFailed", archive: "b.yaml", image: "b.yaml"},
		"object":    {why: "one object twice", beside: []tarEntry{{name: "b.yaml", content: configMap("new", "2") + configMap("new", "3")}}, reason: "RenderFailed", archive: "ConfigMap", image: "ConfigMap"},
	}
}

// sourced is a deployment of content that is served.
type sourced struct {
	fault

	*operated
	*v1alpha1.BundleDeployment

	origin *origin
	// first and second are references to its versions; wrong is to what is there of the
	// second while the source fails.
	first, second, wrong string
	// want is what is said meanwhile.
	want string
}

// sourced publishes the versions of a deployment, and installs the first.
func (w *operated) sourced(called string, f fault, want string, by publisher) *sourced {
	w.t.Helper()
	s := &sourced{fault: f, operated: w, want: want}
	origin, publish := by(w.t)
	s.origin, origin.instead = origin, f.instead
	second := tarEntry{name: "all.yaml", content: configMap(called, "2") + configMap(called+"-new", "2")}
	s.first = publish(pack(w.t, tarEntry{name: "all.yaml", content: configMap(called, "1")}))
	s.second = publish(pack(w.t, second))
	s.wrong = publish(pack(w.t, append([]tarEntry{second}, f.beside...)...))
	s.BundleDeployment = &v1alpha1.BundleDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: called}}
	s.Spec.Sources = []v1alpha1.BundleSource{{Reference: s.first}}
	require.NoError(w.t, w.admin.Create(w.ctx, s.BundleDeployment))
	return s
}

// turn refers to some content, and gives another turn at once where it did so before.
func (s *sourced) turn(reference string) {
	s.t.Helper()
	s.edit(s.BundleDeployment, func() {
		s.Spec.Sources[0].Reference = reference
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, "example.org/turn", s.ResourceVersion)
	})
}

// revisions are the names of a deployment's BundleRevisions.
func (s *sourced) revisions() []string {
	s.t.Helper()
	var list v1alpha1.BundleRevisionList
	require.NoError(s.t, s.admin.List(s.ctx, &list, client.InNamespace(s.namespace)))
	var names []string
	for _, r := range list.Items {
		if r.Spec.Deployment == s.Name {
			names = append(names, r.Name)
		}
	}
	return names
}

// What a source does wrong stops what is new, says why, and changes nothing: what stands
// is put right meanwhile, and the upgrade is made once the source is well (BUNDLES.md 1).
func TestDeploymentOutlivesItsSource(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	var all []*sourced
	for label, f := range faults() {
		if f.archive != "" {
			all = append(all, w.sourced("archive-"+label, f, f.archive, archives))
		}
		if f.image != "" {
			all = append(all, w.sourced("image-"+label, f, f.image, images))
		}
	}
	for _, s := range all {
		w.ready(s.BundleDeployment, "Healthy")
		s.origin.failing.Store(true)
		s.turn(s.wrong)
	}
	for _, s := range all {
		s.isStopped()
		w.change(s.Name, "k", "edited")
		s.turn(s.wrong)
	}
	for _, s := range all {
		controlplane.Eventually(t, func() bool { return w.configMaps()[s.Name]["k"] == "1" }, soon, "%s: what stands is put right", s.Name)
		require.NoError(t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(s.BundleDeployment), s.BundleDeployment))
		assert.Equal(t, cmp.Or(s.reason, "FetchFailed"), meta.FindStatusCondition(s.Status.Conditions, "Ready").Reason, "%s: what was said stays said", s.Name)
		assert.Equal(t, []string{s.Name + "-1"}, s.revisions(), s.why)
		assert.NotContains(t, w.configMaps(), s.Name+"-new", s.why)
		s.origin.failing.Store(false)
		s.turn(s.second)
	}
	for _, s := range all {
		w.ready(s.BundleDeployment, "Healthy")
		assert.EqualValues(t, 2, s.Status.HealthyRevision, s.why)
		assert.Equal(t, "2", w.configMaps()[s.Name]["k"], s.why)
	}
}

// isStopped waits until it is said what is wrong with the source.
func (s *sourced) isStopped() {
	s.t.Helper()
	message := s.ready(s.BundleDeployment, cmp.Or(s.reason, "FetchFailed"))
	assert.Contains(s.t, message, s.want, s.why)
	assert.Contains(s.t, message, "; revision 1 is kept", s.why)
	if s.reason == "" {
		assert.Contains(s.t, message, "cannot fetch "+s.wrong, s.why)
	}
}
