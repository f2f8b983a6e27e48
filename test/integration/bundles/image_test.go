package bundles

import (
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// upstream is a repository of git's own that is served over HTTP, unless it is down.
type upstream struct {
	t      *testing.T
	folder string
	url    string
	down   atomic.Bool
}

func newUpstream(t *testing.T) *upstream {
	t.Helper()
	u := &upstream{t: t, folder: t.TempDir()}
	path, err := exec.LookPath("git")
	require.NoError(t, err)
	backend := &cgi.Handler{Path: path, Args: []string{"http-backend"}, Env: []string{
		"GIT_PROJECT_ROOT=" + u.folder, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
	}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u.down.Load() {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	u.url = server.URL + "/.git"
	u.git("init", "--quiet", "--initial-branch", "main")
	return u
}

// git runs git in the repository and returns what it prints.
func (u *upstream) git(args ...string) string {
	u.t.Helper()
	c := exec.CommandContext(u.t.Context(), "git", append([]string{"-C", u.folder, "-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := c.CombinedOutput()
	require.NoError(u.t, err, string(out))
	return strings.TrimSpace(string(out))
}

// commit makes a commit and returns the first digits of its name.
func (u *upstream) commit() string {
	u.t.Helper()
	u.git("commit", "--quiet", "--allow-empty", "--message", "x")
	return u.git("rev-parse", "--short=7", "HEAD")
}

// The tag of images is the commit of a branch of their upstream, which the environment's file names. It moves with the branch,
// and stays while the repository does not answer (FLEET.md C2).
func TestFleetImageRef(t *testing.T) {
	t.Parallel()
	w, u := newFleet(t), newUpstream(t)
	w.files("templates", map[string]string{"all.yaml": strings.ReplaceAll(templates, "CHANNEL", "IMAGE_TAG")})
	declared := w.data["ns.yml"]
	ref := func(name string) {
		w.data["ns.yml"] = strings.Replace(declared, "SPARE: x", "INTEGRATION_UPSTREAM_REPOS: [{repo: \""+u.url+"\", ref: "+name+"}]", 1)
	}
	built := func(tag string) {
		t.Helper()
		controlplane.Eventually(t, func() bool { return w.stamped()["qr-github"] == "#"+tag+" " }, soon, "tag "+tag)
		w.becomes("MembersReady")
	}
	first := u.commit()
	ref("main")
	w.declares("github", ordinary)
	w.data["github.yml"] += "upstream: \"" + u.url + "\"\n"
	w.declares("quay", ordinary)
	require.NoError(t, w.admin.Create(w.ctx, w.set))
	built(first)
	assert.Equal(t, "#none ", w.stamped()["qr-quay"], "it has another upstream")
	require.Len(t, w.set.Status.Images, 1)
	record := w.set.Status.Images[0]
	assert.Equal(t, "git+"+u.url+"@main", record.Reference)
	assert.Equal(t, u.git("rev-parse", "HEAD"), record.Commit)

	t.Log("the branch moves")
	second := u.commit()
	built(second)
	assert.False(t, w.set.Status.Images[0].Since.Before(&record.Since))

	t.Log("the last commit stays while the repository does not answer")
	u.down.Store(true)
	assert.Contains(t, w.becomes("FetchFailed"), "cannot fetch git+"+u.url+"@main")
	assert.Equal(t, "#"+second+" ", w.stamped()["qr-github"])
	u.down.Store(false)
	built(second)

	t.Log("a ref that is not there stops what is built from it, and nothing else")
	ref("mian")
	w.declares("quay", "spec: {extraArgs: --all, resources: {limits: {memory: 1Mi}}}")
	controlplane.Eventually(t, func() bool { return w.stamped()["qr-quay"] == "#none --all" }, soon)
	assert.Contains(t, w.becomes("DataFaulty"), `/github.yml:4: cannot look up git+`+u.url+"@mian, the tag of its image: ")
	assert.Equal(t, "#"+second+" ", w.stamped()["qr-github"])

	t.Log("the set has precedence")
	w.change(func() {
		w.set.Spec.Chart.ImageTag = &v1alpha1.IntegrationImageTag{Refs: map[string]string{"prod": first}, Digits: 5}
	})
	w.becomes("DataFaulty") // there is no branch of this name
	u.git("branch", "old", first)
	w.change(func() { w.set.Spec.Chart.ImageTag.Refs["prod"] = "old" })
	controlplane.Eventually(t, func() bool { return w.stamped()["qr-github"] == "#"+first[:5]+" " }, soon)
}
