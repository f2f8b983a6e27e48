package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// deployment/examples/installer: a Job of an image that carries manifests installs them, with
// no more rights than they need, and says how far it is; with the next image it is an
// upgrade.
func TestExampleInstaller(t *testing.T) {
	t.Parallel()
	w := withOrcon(t)
	w.Kubectl(t, "apply", "-f", deployment(t, "examples/installer/rbac.yaml"))
	t.Cleanup(func() {
		w.Kubectl(t, "delete", "--wait=false", "-f", deployment(t, "examples/installer/rbac.yaml"))
	})
	w.namespace = "hello"
	manifests := deployment(t, "examples/installer/manifests")
	before := w.left()

	log := w.runInstaller("dev", manifests)
	for _, line := range []string{"create   Deployment hello/web", "creates Deployment hello/web", "2/3 healthy · waiting for Deployment hello/web: ", "hello/hello is healthy: revision 1"} {
		assert.Contains(t, log, line)
	}
	w.prints("hello", "exec", "deploy/web", "--", "wget", "-q", "-O", "-", "http://web")

	log = w.runInstaller("v2", changed(t, manifests, "index.html: hello", "index.html: hello again"))
	assert.Contains(t, log, `data.index.html: "hello" → "hello again"`)
	assert.Contains(t, log, "hello/hello is healthy: revision 2")
	w.prints("hello again", "exec", "deploy/web", "--", "wget", "-q", "-O", "-", "http://web")

	assert.Equal(t, "no", w.may("get", "secrets", "default"))
	assert.Equal(t, "no", w.may("create", "deployments.apps", "default"))
	assert.Equal(t, "no", w.may("create", "roles.rbac.authorization.k8s.io", "hello"))
	assert.Equal(t, "no", w.may("list", "secrets", "hello"))

	w.kubectl("delete", "jobs", "--all")
	code, out := w.orcon(controlplane.Binary(t, "orcon"), "uninstall", "hello", "--yes", "--timeout", patience.String())
	require.Zero(t, code, out)
	w.eventually(func() string {
		if left := w.left(); !assert.ObjectsAreEqual(before, left) {
			return strings.Join(left, " ") + " is left"
		}
		return ""
	})
}

// changed copies a folder of manifests and replaces a text in it.
func changed(t *testing.T, folder, old, now string) string {
	t.Helper()
	to := t.TempDir()
	text, err := os.ReadFile(filepath.Join(folder, "web.yaml"))
	require.NoError(t, err)
	require.Contains(t, string(text), old)
	require.NoError(t, os.WriteFile(filepath.Join(to, "web.yaml"), []byte(strings.ReplaceAll(string(text), old, now)), 0o600))
	return to
}

// runInstaller makes an image of manifests, runs it as the example does, and returns its log
// once its Job is complete.
func (w *world) runInstaller(tag, manifests string) string {
	w.t.Helper()
	root, file := repository(w.t), filepath.Join(w.t.TempDir(), "installer.tar")
	build := exec.CommandContext(w.t.Context(), filepath.Join(root, "build", "builder"), "installer", "hello-installer", "--manifests", manifests, "--tag", tag, "--tarball", file)
	out, err := build.CombinedOutput()
	require.NoError(w.t, err, string(out))
	w.Run(w.t, "load", file)
	job, err := os.ReadFile(deployment(w.t, "examples/installer/job.yaml"))
	require.NoError(w.t, err)
	name, err := w.tryWith(strings.ReplaceAll(string(job), "hello-installer:dev", "hello-installer:"+tag), "create", "-o", "name", "-f", "-")
	require.NoError(w.t, err, name)
	w.kubectl("wait", "--for=condition=complete", "--timeout="+patience.String(), name)
	log := w.kubectl("logs", name)
	w.t.Log(log)
	return log
}

// may asks whether the installer may do something in a namespace.
func (w *world) may(verb, resource, namespace string) string {
	answer, _ := w.try("auth", "can-i", verb, resource, "--as=system:serviceaccount:hello:installer", "-n", namespace)
	return answer
}
