package git_test

import (
	"context"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/git"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// project is a repository of git's own, to be served.
type project struct {
	*testing.T
	folder string
}

// git runs git in the repository and returns what it prints.
func (p project) git(args ...string) string {
	p.Helper()
	c := exec.CommandContext(p.Context(), "git", append([]string{"-C", p.folder, "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"}, args...)...)
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := c.CombinedOutput()
	require.NoError(p, err, string(out))
	return strings.TrimSpace(string(out))
}

func (p project) write(name, content string) {
	p.Helper()
	at := filepath.Join(p.folder, name)
	require.NoError(p, os.MkdirAll(filepath.Dir(at), 0o750))
	require.NoError(p, os.WriteFile(at, []byte(content), 0o600))
}

// commit commits all and returns the commit.
func (p project) commit() string {
	p.Helper()
	p.git("add", "--all")
	p.git("commit", "--quiet", "--message", "x")
	return p.git("rev-parse", "HEAD")
}

func newProject(t *testing.T) project {
	t.Helper()
	p := project{t, t.TempDir()}
	p.git("init", "--quiet", "--initial-branch", "main")
	return p
}

// served serves a repository over HTTP, behind a handler, and returns its address.
func (p project) served(before func(w http.ResponseWriter, r *http.Request) (done bool)) string {
	p.Helper()
	path, err := exec.LookPath("git")
	require.NoError(p, err)
	backend := &cgi.Handler{Path: path, Args: []string{"http-backend"}, Env: []string{"GIT_PROJECT_ROOT=" + p.folder, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before == nil || !before(w, r) {
			backend.ServeHTTP(w, r)
		}
	}))
	p.Cleanup(server.Close)
	return server.URL + "/.git"
}

func client() git.Client { return git.Client{Limit: 1 << 20} }

// What is fetched is the commit that was named, or the one that a name means today.
func TestFetch(t *testing.T) {
	p := newProject(t)
	p.write("deploy/a.yaml", "1")
	first := p.commit()
	p.git("tag", "--annotate", "--message", "x", "v1")
	p.write("deploy/a.yaml", "2")
	p.write("run", "x")
	require.NoError(t, os.Chmod(filepath.Join(p.folder, "run"), 0o755))
	second := p.commit()
	p.git("checkout", "--quiet", "-b", "release/1")
	p.write("deploy/a.yaml", "3")
	third := p.commit()
	p.git("checkout", "--quiet", "main")
	address := p.served(nil)

	tests := map[string]struct {
		why, version, digest string
		commit, content      string
	}{
		"Default": {why: "the default branch", commit: second, content: "2"},
		"Branch":  {why: "a branch with a slash", version: "release/1", commit: third, content: "3"},
		"Tag":     {why: "what an annotated tag is of", version: "v1", commit: first, content: "1"},
		"Commit":  {why: "one that no name means any more", digest: first, commit: first, content: "1"},
	}
	for _, allowed := range []string{"false", "true"} {
		p.git("config", "uploadpack.allowReachableSHA1InWant", allowed)
		for label, tc := range tests {
			t.Run(label+allowed, func(t *testing.T) {
				tree, commit, err := client().Fetch(t.Context(), bundle.Reference{Origin: bundle.Git, Location: address, Version: tc.version, Digest: tc.digest})
				require.NoError(t, err, tc.why)
				assert.Equal(t, tc.commit, commit, tc.why)
				a, _ := tree.File("deploy/a.yaml")
				assert.Equal(t, tc.content, string(a.Content), tc.why)
				if run, ok := tree.File("run"); ok {
					assert.True(t, run.Executable)
				}
			})
		}
	}
}

// The commit of a branch or tag is looked up without files.
func TestHead(t *testing.T) {
	p := newProject(t)
	p.write("a", "1")
	first := p.commit()
	p.git("tag", "light")
	p.git("tag", "--annotate", "--message", "x", "v1")
	p.write("a", "2")
	second := p.commit()
	p.git("branch", "v2")
	p.git("tag", "v2", first)
	posts := 0
	address := p.served(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost {
			posts++
		}
		return false
	})
	for version, want := range map[string]string{"main": second, "light": first, "v1": first, "v2": second} {
		commit, err := client().Head(t.Context(), bundle.Reference{Origin: bundle.Git, Location: address, Version: version})
		require.NoError(t, err, version)
		assert.Equal(t, want, commit, version)
	}
	assert.Zero(t, posts, "no objects are asked for")
	_, err := client().Head(t.Context(), bundle.Reference{Origin: bundle.Git, Location: address, Version: "v3"})
	require.ErrorContains(t, err, `no branch or tag is named "v3"`)
	_, err = client().Head(t.Context(), bundle.Reference{Origin: bundle.Git, Location: address + "/none", Version: "main"})
	require.ErrorContains(t, err, "cannot look a commit up in the repository")
}

func TestFetchCredentials(t *testing.T) {
	p := newProject(t)
	p.write("a", "x")
	commit := p.commit()
	address := p.served(func(w http.ResponseWriter, r *http.Request) bool {
		if user, password, _ := r.BasicAuth(); user == "me" && password == "hush" || r.Header.Get("Authorization") == "Bearer hush" {
			return false
		}
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	reference := bundle.Reference{Origin: bundle.Git, Location: address, Digest: commit}
	for _, credentials := range []bundle.Credentials{{Username: "me", Password: "hush"}, {Token: "hush"}} {
		c := client()
		c.Credentials = credentials
		_, _, err := c.Fetch(t.Context(), reference)
		require.NoError(t, err)
	}
	c := client()
	c.Credentials = bundle.Credentials{Username: "me", Password: "hush hush"}
	_, _, err := c.Fetch(t.Context(), reference)
	require.ErrorContains(t, err, "use credentials")
	assert.NotContains(t, err.Error(), "hush", "BUNDLES.md, invariant 10")

	over := bundle.Reference{Origin: bundle.Git, Location: "ssh://git@example.org/shop"}
	_, _, err = client().Fetch(t.Context(), over)
	require.ErrorContains(t, err, "ssh-privatekey and known_hosts")
	c.Credentials = bundle.Credentials{PrivateKey: "hush", KnownHosts: "x"}
	_, _, err = c.Fetch(t.Context(), over)
	require.ErrorContains(t, err, "cannot use ssh-privatekey")
	assert.NotContains(t, err.Error(), "hush")
}

// CONTENT.md X6: credentials do not follow a redirect to another port.
func TestFetchCredentialsOfAnotherPort(t *testing.T) {
	p := newProject(t)
	p.write("a", "x")
	p.commit()
	var sent []string
	other := p.served(func(_ http.ResponseWriter, r *http.Request) bool {
		sent = append(sent, r.Header.Get("Authorization"))
		return false
	})
	address := p.served(func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, strings.TrimSuffix(other, "/.git")+r.URL.String(), http.StatusFound)
		return true
	})
	c := client()
	c.Credentials = bundle.Credentials{Username: "me", Password: "hush"}
	_, _, err := c.Fetch(t.Context(), bundle.Reference{Location: address})
	require.NoError(t, err, "what is open to all is fetched from where it is")
	assert.NotEmpty(t, sent)
	assert.Empty(t, strings.Join(sent, ""))
	c.Credentials = bundle.Credentials{Token: "hush"}
	_, _, err = c.Fetch(t.Context(), bundle.Reference{Location: "http://git.example.org/shop"})
	require.ErrorContains(t, err, "credentials are not sent without it: use https://, or remove the credentials")
}

// BUNDLES.md, invariant 1: a fetch that fails gives nothing and says why.
func TestFetchRefuses(t *testing.T) {
	pack := func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/git-upload-pack") }
	tests := map[string]struct {
		why       string
		make      func(p project)
		before    func(w http.ResponseWriter, r *http.Request) bool
		reference bundle.Reference
		want      string
	}{
		"NotFound": {why: "404", before: func(w http.ResponseWriter, r *http.Request) bool { http.NotFound(w, r); return true }, want: "check the address"},
		"Broken": {why: "500", before: func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusInternalServerError)
			return true
		}, want: "500"},
		"Page":      {why: "a page", before: func(w http.ResponseWriter, _ *http.Request) bool { _, _ = w.Write([]byte("<html>")); return true }, want: "cannot fetch"},
		"Truncated": {why: "a pack that is cut off", before: func(w http.ResponseWriter, r *http.Request) bool { return pack(r) && writes(w, "0008NAK\nPACK") }, want: "cannot fetch"},
		"Branch":    {why: "no such branch", reference: bundle.Reference{Version: "nothing"}, want: `no branch or tag is named "nothing"`},
		"Commit":    {why: "no such commit", reference: bundle.Reference{Digest: strings.Repeat("0a", 20)}, want: "the repository does not have it"},
		"Large":     {why: "more than is taken", make: func(p project) { p.write("deploy/large", strings.Repeat("x", 2<<20)) }, want: "too large"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			p := newProject(t)
			p.write("deploy/a", "x")
			p.write("other/b", "x")
			if tc.make != nil {
				tc.make(p)
			}
			p.commit()
			tc.reference.Location = p.served(tc.before)
			tree, _, err := client().Fetch(t.Context(), tc.reference)
			require.ErrorContains(t, err, tc.want, tc.why)
			assert.Empty(t, tree.Paths(), tc.why)
		})
	}
}

// CONTENT.md X3: a link is not followed, and known as one.
func TestFetchLinks(t *testing.T) {
	p := newProject(t)
	p.write("deploy/a", "x")
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(p.folder, "deploy", "l")))
	p.commit()
	tree, _, err := client().Fetch(t.Context(), bundle.Reference{Location: p.served(nil)})
	require.NoError(t, err)
	assert.Equal(t, []string{"deploy/a"}, tree.Paths())
	assert.Equal(t, map[string]string{"deploy/l": bundle.SymbolicLink}, tree.Links())
}

func writes(w http.ResponseWriter, text string) bool {
	w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
	_, _ = w.Write([]byte(text))
	return true
}

// BUNDLES.md, invariant 1: whoever waits sets a limit.
func TestFetchHangs(t *testing.T) {
	p := newProject(t)
	p.write("a", "x")
	p.commit()
	address := p.served(func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, _, err := client().Fetch(ctx, bundle.Reference{Origin: bundle.Git, Location: address})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
