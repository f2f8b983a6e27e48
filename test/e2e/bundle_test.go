package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// shop is a bundle in which each object needs the one before: a setting, the server that
// reads it, its Service, and a Job that asks the Service.
const shop = `
apiVersion: v1
kind: ConfigMap
metadata: {name: page}
data: {index.html: "hello from COLOUR"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
      - name: web
        image: IMAGE
        command: [httpd, -f, -p, "8080", -h, /page]
        readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1}
        volumeMounts: [{name: page, mountPath: /page}]
      volumes: [{name: page, configMap: {name: page}}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{port: 80, targetPort: 8080}]
---
apiVersion: batch/v1
kind: Job
metadata:
  name: ask
  annotations: {orcon.tengu.io/after: Service/web}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers: [{name: ask, image: "busybox:stable", command: [wget, -q, -O, /dev/stdout, "http://web"]}]
`

// bundle is a folder with the shop, of a colour and an image.
func bundle(t *testing.T, colour, image string) string {
	t.Helper()
	folder := t.TempDir()
	text := strings.NewReplacer("COLOUR", colour, "IMAGE", image).Replace(shop)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "shop.yaml"), []byte(text), 0o600))
	return folder
}

// orcon runs the command line on the world, and returns its exit code and what it said.
func (w *world) orcon(program string, args ...string) (int, string) {
	w.t.Helper()
	command := exec.CommandContext(w.t.Context(), program, append(args, "--kubeconfig", w.Kubeconfig, "-n", w.namespace)...)
	out, err := command.CombinedOutput()
	w.t.Logf("orcon %s\n%s", strings.Join(args, " "), out)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), string(out)
	}
	require.NoError(w.t, err)
	return 0, string(out)
}

// commandLine builds orcon.
func commandLine(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "orcon")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/orcon")
	build.Dir = repository(t)
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	return program
}

// left are the objects that the namespace holds, by kind and name.
func (w *world) left() []string {
	return strings.Fields(w.Kubectl(w.t, "-n", w.namespace, "get", "all,configmaps,secrets,endpointslices", "-o", "name"))
}

// A bundle is installed in order and healthy (BUNDLES.md 1 and 2). An upgrade that cannot
// become healthy goes back by itself, without a Job run again (BUNDLES.md 6), and is not tried
// again. Uninstalled, the namespace is what it was (BUNDLES.md 7).
func TestBundle(t *testing.T) {
	w := withOrcon(t).inUnlabelled()
	program := commandLine(t)
	require.Eventually(t, func() bool { return len(w.left()) > 0 }, patience, time.Second, "the cluster's own ConfigMap is there")
	before := w.left()

	code, out := w.orcon(program, "install", bundle(t, "blue", "busybox:stable"), "--name", "shop", "--yes", "--timeout", patience.String())
	require.Zero(t, code, out)
	job := w.jobs()
	require.Len(t, job, 1)
	assert.Equal(t, "hello from blue", strings.TrimSpace(w.Kubectl(t, "-n", w.namespace, "logs", "job/"+job[0])))

	code, out = w.orcon(program, "install", bundle(t, "green", "registry.invalid/none:1"), "--name", "shop", "--yes", "--timeout", "45s")
	assert.Equal(t, 3, code, "time was up: %s", out)
	assert.Contains(t, out, "registry.invalid/none:1", "it says what holds it up")
	assert.Contains(t, out, "the last healthy content is back, as revision 3")
	assert.Equal(t, job, w.jobs(), "no Job ran again")
	assert.Contains(t, w.Kubectl(t, "-n", w.namespace, "get", "configmap", "page", "-o", "yaml"), "hello from blue")
	w.Kubectl(t, "-n", w.namespace, "rollout", "status", "deployment/web", "--timeout=60s")

	code, out = w.orcon(program, "install", bundle(t, "green", "registry.invalid/none:1"), "--name", "shop", "--yes")
	assert.Equal(t, 2, code, "what has failed is not tried again: %s", out)

	code, out = w.orcon(program, "uninstall", "shop", "--yes", "--timeout", patience.String())
	require.Zero(t, code, out)
	require.Eventually(t, func() bool { return assert.ObjectsAreEqual(before, w.left()) }, patience, time.Second, "%v and not %v", before, w.left())
}

// jobs are the names of the namespace's Jobs.
func (w *world) jobs() []string {
	w.t.Helper()
	list, err := w.client.BatchV1().Jobs(w.namespace).List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	var names []string
	for _, j := range list.Items {
		names = append(names, j.Name)
	}
	return names
}
