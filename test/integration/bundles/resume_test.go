package bundles

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// web is a Deployment that becomes healthy when somebody makes its pods ready.
const web = `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: none}]}
`

// source writes manifests to a folder.
func source(t *testing.T, manifests string) string {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "all.yaml"), []byte(manifests), 0o600))
	return folder
}

// An installation whose process is killed while it waits is gone on with from what is
// stored: the source is gone by then (BUNDLES.md 8). There must be something to go on with.
func TestResume(t *testing.T) {
	w := newWorld(t)
	l := newCommandLine(t, w.cluster)
	resume := "install --resume shop -n " + w.namespace
	code, out := l.run(resume)
	assert.Equal(t, 2, code)
	assert.Contains(t, out, "cannot resume "+w.namespace+"/shop: ")

	folder := source(t, blue+web)
	command := exec.CommandContext(t.Context(), l.program, "install", folder, "--name", "shop", "-n", w.namespace, "--yes", "--kubeconfig", l.kubeconfig)
	said, err := command.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	for lines := bufio.NewScanner(said); lines.Scan() && !strings.Contains(lines.Text(), "/web: "); {
	}
	require.NoError(t, command.Process.Kill())
	require.Error(t, command.Wait())
	require.NoError(t, os.RemoveAll(folder))

	_, out = l.run("plan " + source(t, blue+web) + " --name shop -n " + w.namespace)
	assert.Contains(t, out, "note: revision 1 of "+w.namespace+"/shop is under way in another process, or was interrupted")

	code, out = l.run(resume + " elsewhere/")
	assert.Equal(t, 2, code, "what goes on has its source")
	assert.Contains(t, out, "leave it out")
	pretendPods(t, w.cluster, w.namespace)
	assert.Contains(t, l.must(resume), "shop is healthy: revision 1")
	code, out = l.run(resume)
	assert.Equal(t, 2, code)
	assert.Contains(t, out, "nothing was interrupted: see orcon history shop -n "+w.namespace)
}

// Each end has its exit code, and says what to do next.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := newCommandLine(t, w.cluster)
	w.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra, namespace: " + w.namespace + "}\n")
	tests := []struct {
		why, command, manifests string
		code                    int
		says                    string
	}{
		{"done", "install --yes", blue, 0, "is healthy: revision 1"},
		{"nothing to do is done, too", "install --yes", blue, 0, "nothing to change"},
		{"nobody answered", "install", green, 2, "answer y, or use --yes"},
		{"no progress", "install --yes", green + broken, 2, "the last healthy content is back as revision 3"},
		{"tried before", "install --yes", green + broken, 2, "--retry"},
		{"no time", "install --yes --timeout 2s", green + web, 3, "timed out after 2s: waiting for Deployment " + w.namespace + "/web: "},
		{"of somebody else", "plan", blue + extra, 4, "conflict: ConfigMap " + w.namespace + "/extra"},
		{"of somebody else", "install --yes", blue + extra, 4, "is not managed by Orcon"},
	}
	for _, tc := range tests {
		code, out := l.run(tc.command + " " + source(t, tc.manifests) + " --name shop -n " + w.namespace)
		assert.Equal(t, tc.code, code, tc.why)
		assert.Contains(t, out, tc.says, tc.why)
	}
	code, out := l.run("uninstall shop --yes --timeout 1ns -n " + w.namespace)
	assert.Equal(t, 3, code, out)
	l.must("uninstall shop --yes -n " + w.namespace)
}
