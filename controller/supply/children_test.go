package supply

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"k8s.io/apimachinery/pkg/types"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/sandbox"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content/render"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

func TestMain(m *testing.M) {
	Child(render.Output)
	os.Exit(m.Run())
}

// isolated fetches and renders in child processes with the controller's limits, but for the processor time
// of a rendering.
func isolated(t *testing.T, cpu time.Duration) *content.Isolated {
	t.Helper()
	i, err := Isolate(t.TempDir())
	require.NoError(t, err)
	box, err := sandbox.Open(t.TempDir())
	require.NoError(t, err)
	i.Rendering = running(box, sandbox.Allowance{Memory: ChildMemory, CPU: cpu, Wall: renderTime, Output: content.MaxRendered + maxAnswer})
	return i
}

// files are the content of a source, by their paths.
type files map[string]string

// archive returns the files as an archive.
func (f files) archive(t *testing.T) []byte {
	t.Helper()
	var tree domain.Tree
	for name, text := range f {
		require.NoError(t, tree.Add(name, domain.File{Content: []byte(text)}))
	}
	var out bytes.Buffer
	require.NoError(t, archive.Pack(&out, &tree))
	return out.Bytes()
}

// serve serves bytes, and returns a source of them.
func serve(t *testing.T, packed []byte) []content.Source {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(packed) }))
	t.Cleanup(server.Close)
	return sourceAt(t, server.URL+"/a.tar")
}

func sourceAt(t *testing.T, reference string) []content.Source {
	t.Helper()
	r, err := domain.ParseReference(reference)
	require.NoError(t, err)
	return []content.Source{{Reference: r}}
}

const chart = "apiVersion: v2\nname: shop\nversion: 1.0.0\n"

const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"

// explosiveSchema needs 2^40 validations.
func explosiveSchema() files {
	var s strings.Builder
	s.WriteString(`{"$ref": "#/$defs/a0", "$defs": {`)
	for i := range 40 {
		fmt.Fprintf(&s, `"a%d": {"allOf": [{"$ref": "#/$defs/a%d"}, {"$ref": "#/$defs/a%[2]d"}]}, `, i, i+1)
	}
	s.WriteString(`"a40": {"type": "object"}}}`)
	return files{"Chart.yaml": chart, "values.schema.json": s.String(), "templates/a.yaml": manifest}
}

// doubling returns 30 kustomizations; each uses the one before twice.
func doubling() files {
	all := files{"k0/a.yaml": manifest, "k0/kustomization.yaml": "resources: [a.yaml]\n"}
	for i := 1; i <= 30; i++ {
		for _, prefix := range []string{"p", "q"} {
			all[fmt.Sprintf("%s%d/kustomization.yaml", prefix, i)] = fmt.Sprintf("namePrefix: %s-\nresources: [../k%d]\n", prefix, i-1)
		}
		all[fmt.Sprintf("k%d/kustomization.yaml", i)] = fmt.Sprintf("resources: [../p%d, ../q%[1]d]\n", i)
	}
	return all
}

// TestBadContent has content that no limit of its size stops rendered: it ends with a message, and this
// process goes on (TRUST.md U6).
func TestBadContent(t *testing.T) {
	const short = 2 * time.Second
	tests := map[string]struct {
		why   string
		files files
		cpu   time.Duration
		path  string
		want  string
	}{
		"Repeat":  {"a template that makes two billion letters", files{"Chart.yaml": chart, "templates/a.yaml": `{{ repeat 2000000000 "a" }}`}, childCPU, "", "needs more than 576 MiB of memory"},
		"Schema":  {"a schema of 2^40 validations", explosiveSchema(), short, "", "needs more than 2s of processor time"},
		"Doubles": {"a kustomization that uses another twice, which uses another twice", doubling(), short, "k30", "needs more than"},
		"Aliases": {"YAML that refers to itself", files{"a.yaml": manifest + "data:\n  a: &a0 [x]\n" + aliases()}, childCPU, "", "excessive aliasing"},
		"Values":  {"what is small as text and large in memory", files{"a.yaml": manifest + "list: [" + strings.Repeat("{},", 500_000) + "]\n"}, childCPU, "", "renders to 50000"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			i := isolated(t, tc.cpu)
			fetched, err := i.Fetch(t.Context(), serve(t, tc.files.archive(t)), nil)
			require.NoError(t, err)
			defer fetched.Close()
			_, err = i.Render(t.Context(), fetched, content.Options{Path: tc.path})
			require.ErrorContains(t, err, tc.want, tc.why)
			assert.NotErrorIs(t, err, content.ErrProcess)
		})
	}
}

// aliases returns lists; each has the one before nine times.
func aliases() string {
	var s strings.Builder
	for i := range 9 {
		one := fmt.Sprintf("*a%d, ", i)
		fmt.Fprintf(&s, "  b%d: &a%d [%s]\n", i, i+1, strings.Repeat(one, 9))
	}
	return s.String()
}

// TestGitBomb fetches an object that inflates a thousandfold.
func TestGitBomb(t *testing.T) {
	folder := t.TempDir()
	git := func(args ...string) {
		c := exec.CommandContext(t.Context(), "git", append([]string{"-C", folder, "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "core.compression=1"}, args...)...)
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := c.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	git("init", "--quiet", "--initial-branch", "main")
	large, err := os.Create(filepath.Join(folder, "a.yaml"))
	require.NoError(t, err)
	require.NoError(t, large.Truncate(400<<20))
	require.NoError(t, large.Close())
	git("add", "--all")
	git("commit", "--quiet", "--message", "x")
	path, err := exec.LookPath("git")
	require.NoError(t, err)
	server := httptest.NewServer(&cgi.Handler{Path: path, Args: []string{"http-backend"}, Env: []string{"GIT_PROJECT_ROOT=" + folder,
		"GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}})
	defer server.Close()
	_, err = isolated(t, childCPU).Fetch(t.Context(), sourceAt(t, "git+"+server.URL+"/.git"), nil)
	require.ErrorContains(t, err, "needs more than 576 MiB of memory")
	assert.True(t, content.Exceeded(err))
}

// TestLargeBundles fetches ten bundles of 60 MiB at once: those that render to little are rendered, the
// others end with a message, and this process needs no memory for what it fetches.
func TestLargeBundles(t *testing.T) {
	text := strings.Repeat("0123456789abcdef", 60<<16)
	good := serve(t, files{"a.yaml": manifest, "text": text}.archive(t))
	bad := serve(t, files{"a.yaml": manifest + "data: {a: \"" + text + "\"}\n"}.archive(t))
	i := isolated(t, childCPU)
	var most runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&most)
	before, peak, mu := most.HeapInuse, uint64(0), sync.Mutex{}
	look := func() {
		mu.Lock()
		defer mu.Unlock()
		runtime.ReadMemStats(&most)
		peak = max(peak, most.HeapInuse)
	}
	var all sync.WaitGroup
	all.Add(10)
	p := New(Places(), func(types.NamespacedName) { all.Done() })
	work := func(n int) Work {
		sources := good
		if n >= 5 {
			sources = bad
		}
		return Work{
			Input: sum(fmt.Sprint(n)), Source: sum(fmt.Sprint(n)),
			Fetch: func(ctx context.Context) (*content.Fetched, error) {
				defer look()
				return i.Fetch(ctx, sources, nil)
			},
			Render: func(ctx context.Context, f *content.Fetched) (content.Output, error) {
				defer look()
				return i.Render(ctx, f, content.Options{})
			},
		}
	}
	for n := range 10 {
		name := types.NamespacedName{Namespace: fmt.Sprint("n", n%3), Name: fmt.Sprint(n)}
		p.Order(gone(t), name, work(n), time.Unix(0, 0))
	}
	all.Wait()
	for n := range 10 {
		name := types.NamespacedName{Namespace: fmt.Sprint("n", n%3), Name: fmt.Sprint(n)}
		r, _, err := p.Order(gone(t), name, work(n), time.Unix(0, 0))
		if n < 5 {
			assert.NoError(t, err)
			assert.Contains(t, string(r.Objects), `"ConfigMap"`)
			continue
		}
		assert.ErrorContains(t, err, "more than")
		assert.NotErrorIs(t, err, content.ErrProcess)
	}
	assert.True(t, p.places.idle())
	assert.Less(t, peak-min(peak, before), uint64(64<<20), "content lies in files")
}

// TestKnownHosts fetches over SSH in a pod without a temporary folder, whose root is read-only: a child has
// a folder of its own for known_hosts.
func TestKnownHosts(t *testing.T) {
	i := isolated(t, childCPU)
	t.Setenv("TMPDIR", "/proc/nowhere")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	go func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			_ = conn.Close()
		}
	}()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	block, err := ssh.MarshalPrivateKey(key, "")
	require.NoError(t, err)
	sources := sourceAt(t, "git+ssh://git@"+listener.Addr().String()+"/a")
	sources[0].Credentials = domain.Credentials{PrivateKey: string(pem.EncodeToMemory(block)), KnownHosts: "# none"}
	_, err = i.Fetch(t.Context(), sources, nil)
	require.ErrorContains(t, err, "the server closed the connection")
}
