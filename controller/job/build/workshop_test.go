package build

import (
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/directory"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/contents"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/supply"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/template"
)

// JOBS.md J16: a real repository is fetched in child processes, and a real registry has the image, whose layer is the same
// each time.
func TestRegistry(t *testing.T) {
	folder := t.TempDir()
	git := func(args ...string) string {
		c := exec.CommandContext(t.Context(), "git", append([]string{"-C", folder, "-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := c.CombinedOutput()
		require.NoError(t, err, string(out))
		return strings.TrimSpace(string(out))
	}
	git("init", "--quiet", "--initial-branch", "main")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "web"), 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "web", "main.tf"), []byte("x"), 0o600))
	git("add", "--all")
	git("commit", "--quiet", "--message", "x")
	path, err := exec.LookPath("git")
	require.NoError(t, err)
	repository := httptest.NewServer(&cgi.Handler{Path: path, Args: []string{"http-backend"}, Env: []string{"GIT_PROJECT_ROOT=" + folder,
		"GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}})
	defer repository.Close()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	image, err := random.Image(1024, 1)
	require.NoError(t, err)
	tag, err := name.NewTag(host + "/tofu:v1")
	require.NoError(t, err)
	require.NoError(t, remote.Write(tag, image))
	digest, err := image.Digest()
	require.NoError(t, err)

	isolated, err := supply.Isolate(t.TempDir())
	require.NoError(t, err)
	none := func() (bundle.Credentials, error) { return bundle.Credentials{}, nil }
	g := Registry{Contents: isolated, Prefix: host + "/templates", Credentials: none}
	r, err := bundle.ParseReference("git+" + repository.URL + "/.git@main#folder=web")
	require.NoError(t, err)
	files, pinned, err := g.Fetch(t.Context(), r)
	require.NoError(t, err)
	assert.Equal(t, []string{"main.tf"}, files.Paths())
	assert.Equal(t, git("rev-parse", "HEAD"), pinned.Digest)
	v := template.Version{Template: "web", Type: "tofu", Base: host + "/tofu@" + digest.String(), Path: "/work"}
	made, err := g.Make(t.Context(), "shop", v, files)
	require.NoError(t, err)
	assert.Regexp(t, `^`+host+`/templates/shop/web@sha256:[0-9a-f]{64}$`, made)
	again, err := g.Make(t.Context(), "shop", v, files)
	require.NoError(t, err)
	assert.Equal(t, made, again)
	at, err := name.NewDigest(made)
	require.NoError(t, err)
	stored, err := remote.Image(at)
	require.NoError(t, err)
	layers, err := stored.Layers()
	require.NoError(t, err)
	assert.Len(t, layers, 2)

	g.Store, err = directory.Open(t.TempDir())
	require.NoError(t, err)
	kept, err := contents.Put(t.Context(), g.Store, "shop", &files)
	require.NoError(t, err)
	pushed, err := g.Pushed(t.Context(), "shop", kept)
	require.NoError(t, err)
	assert.Equal(t, files, pushed)
	_, err = g.Pushed(t.Context(), "bank", kept)
	require.ErrorContains(t, err, "the content is not stored: push it with `orcon job template push`, or correct spec.build.source.digest")
	adHoc := v
	adHoc.Mode = template.AdHoc
	_, err = contents.Get(t.Context(), g.Store, "adhoc", files.Digest())
	require.ErrorIs(t, err, contents.ErrMissing)
	made, err = g.Make(t.Context(), "adhoc", adHoc, files)
	require.NoError(t, err)
	assert.Equal(t, v.Base, made, "the image is that of the type")
	_, err = contents.Get(t.Context(), g.Store, "adhoc", files.Digest())
	require.NoError(t, err)
	g.Prefix = ""
	_, err = g.Make(t.Context(), "shop", v, files)
	require.ErrorContains(t, err, "set -templateRegistry of job-controller")
	g.Prefix, v.Base = host+"/templates", host+"/none@"+digest.String()
	_, err = g.Make(t.Context(), "shop", v, files)
	require.ErrorContains(t, err, "cannot get the image of type tofu")
	g.Credentials = func() (bundle.Credentials, error) { return bundle.Credentials{}, errors.New("unreadable") }
	_, err = g.Make(t.Context(), "shop", v, files)
	require.ErrorContains(t, err, "cannot read the credentials of the registry: unreadable")
	r.Version = "none"
	_, _, err = g.Fetch(t.Context(), r)
	require.Error(t, err)
}

// A registry whose certificate an authority of one's own has signed is trusted by ca.crt of its credentials, and by nothing
// else.
func TestRegistryOfOwnAuthority(t *testing.T) {
	server := httptest.NewTLSServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	host := strings.TrimPrefix(server.URL, "https://")
	image, err := random.Image(1024, 1)
	require.NoError(t, err)
	tag, err := name.NewTag(host + "/tofu:v1")
	require.NoError(t, err)
	require.NoError(t, remote.Write(tag, image, remote.WithTransport(server.Client().Transport)))
	digest, err := image.Digest()
	require.NoError(t, err)
	var credentials bundle.Credentials
	g := Registry{Prefix: host + "/templates", Credentials: func() (bundle.Credentials, error) { return credentials, nil }}
	v := template.Version{Template: "web", Type: "tofu", Base: host + "/tofu@" + digest.String(), Path: "/work"}
	_, err = g.Make(t.Context(), "shop", v, bundle.Tree{})
	require.ErrorContains(t, err, "cannot get the image of type tofu")
	credentials.CA = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	_, err = g.Make(t.Context(), "shop", v, bundle.Tree{})
	require.NoError(t, err)
	credentials.CA = "none"
	_, err = g.Make(t.Context(), "shop", v, bundle.Tree{})
	require.ErrorContains(t, err, "cannot use ca.crt: it holds no certificate in PEM")
}
