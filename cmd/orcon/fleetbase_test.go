package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// versioned is a repository in the current folder.
type versioned struct{ *testing.T }

// newVersioned makes a repository with the example's chart and data in one commit of branch main.
func newVersioned(t *testing.T) versioned {
	t.Helper()
	example, err := filepath.Abs("../../deployment/examples/fleet")
	require.NoError(t, err)
	v := versioned{t}
	t.Chdir(t.TempDir())
	require.NoError(t, os.CopyFS(".", os.DirFS(example)))
	v.git("init", "--quiet", "--initial-branch", "main")
	v.commit()
	return v
}

func (v versioned) git(args ...string) {
	v.Helper()
	c := exec.CommandContext(v.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"}, args...)...)
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := c.CombinedOutput()
	require.NoError(v, err, string(out))
}

func (v versioned) commit() {
	v.Helper()
	v.git("add", "--all")
	v.git("commit", "--quiet", "--message", "x")
}

// edit replaces a text of a file.
func (v versioned) edit(file, before, after string) {
	v.Helper()
	text, err := os.ReadFile(file)
	require.NoError(v, err)
	require.Contains(v, string(text), before)
	require.NoError(v, os.WriteFile(file, []byte(strings.ReplaceAll(string(text), before, after)), 0o600))
}

// plans checks the exit code and parts of the output of a plan; a part after "not " must be absent.
func (v versioned) plans(code int, args []string, parts ...string) {
	v.Helper()
	got, out, errs := call("", append([]string{"fleet", "plan"}, args...)...)
	assert.Equal(v, code, got, errs)
	for _, part := range parts {
		if absent, not := strings.CutPrefix(part, "not "); not {
			assert.NotContains(v, out+errs, absent)
		} else {
			assert.Contains(v, out+errs, part)
		}
	}
}

// A pull request is compared with a revision, and the work tree stays as it is (FLEET.md P1).
func TestFleetPlanOfARevision(t *testing.T) {
	v := newVersioned(t)
	v.git("tag", "v1")
	v.git("update-ref", "refs/remotes/origin/main", "HEAD")
	v.edit("data/integrations/github-repos.yml", "--write", "--write --fast")
	at := func(base string, more ...string) []string {
		return append([]string{"chart", "--data", "data", "--base", base}, more...)
	}
	const fast = `--write; sleep 10; done" → …b-repos --write --fast; sleep 10; done"`
	v.plans(1, at("HEAD"), fast, "members that change: 1", "not the chart differs")
	v.commit()
	v.plans(0, at("HEAD"), "not github-repos")
	v.plans(1, at("origin/main"), fast)
	v.plans(1, at("HEAD~1"), fast)
	v.plans(1, []string{"./chart/", "--data", "./data/", "--base", "v1"}, fast)

	t.Run("Errors", func(t *testing.T) {
		v := versioned{t}
		v.plans(2, at("orign/main"), `cannot find --base "orign/main": there is no such folder, and the repository of data has no such revision`, `did you mean "origin/main"?`)
		v.plans(2, at("origin/release-12"), "fetch it: git fetch origin release-12")
		_, err := revisionOf("--base", "main", "git+https://example.org/data.git")
		require.EqualError(t, err, `cannot find --base "main": there is no such folder, and no revision either, since git+https://example.org/data.git is in no work tree of git`)
		require.NoError(t, os.Mkdir("v1", 0o750))
		v.plans(2, at("v1"), `cannot use --base "v1": it is a folder and a revision: write ./v1 for the folder, or the revision another way`)
		v.plans(1, at("./v1"), "Deployment github-repos is new")
		require.NoError(t, os.Remove("v1"))
	})
}

// The data of a new folder are all new.
func TestFleetPlanOfANewFolder(t *testing.T) {
	v := newVersioned(t)
	require.NoError(t, os.Rename("data", "moved"))
	v.plans(1, []string{"chart", "--data", "moved", "--base", "main"}, "note: main has no folder moved: everything is new", "Deployment github-repos is new")
}

// A chart in the repository of the data is read at their revision, unless another one is chosen: a reviewer sees what
// the whole change brings about.
func TestFleetPlanOfAChart(t *testing.T) {
	v := newVersioned(t)
	v.edit("data/integrations/github-repos.yml", "--write", "--write --fast")
	v.edit("chart/templates/integrations.yaml", "busybox:stable", "busybox:1.37")
	both := []string{"chart", "--data", "data", "--base", "main"}
	const image, differs = `image: "busybox:stable" → "busybox:1.37"`, "note: the chart differs too"
	v.plans(1, both, "--write --fast", image, differs, "members that change: 4")
	v.plans(1, append(both, "--chart-base", "chart"), "--write --fast", "not "+image, "not "+differs, "members that change: 1")
	v.plans(1, []string{"chart", "--data", "data", "--base", "./data", "--chart-base", "main"}, image, `not --write --fast; sleep 10; done" →`, "members that change: 4")
	v.plans(2, append(both, "--chart-base", "mian"), `cannot find --chart-base "mian"`, `did you mean "main"?`)

	elsewhere := filepath.Join(t.TempDir(), "chart")
	require.NoError(t, os.CopyFS(elsewhere, os.DirFS("chart")))
	v.plans(1, []string{elsewhere, "--data", "data", "--base", "main"}, "--write --fast", "not "+image, "members that change: 1")

	require.NoError(t, os.Rename("chart", "moved"))
	v.plans(1, []string{"moved", "--data", "data", "--base", "main"}, "note: main has no folder moved: the data before the change are rendered by the new chart", "not "+image)
}
