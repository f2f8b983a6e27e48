package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
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

// operator is the shop as an operator bundle has it: without its Job, which none may have.
const operator = `
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: web.v1}
spec:
  installModes:
  - {type: OwnNamespace, supported: true}
  - {type: SingleNamespace, supported: false}
  - {type: MultiNamespace, supported: false}
  - {type: AllNamespaces, supported: false}
  install:
    strategy: deployment
    spec:
      permissions: [{serviceAccountName: web, rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]}]
      deployments:
      - name: web
        spec:
          selector: {matchLabels: {app: web}}
          template:
            metadata: {labels: {app: web}}
            spec:
              serviceAccountName: web
              terminationGracePeriodSeconds: 0
              containers:
              - name: web
                image: IMAGE
                command: [httpd, -f, -p, "8080", -h, /page]
                readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1}
                volumeMounts: [{name: page, mountPath: /page}]
              volumes: [{name: page, configMap: {name: page}}]
`

// template is the shop as a Template of OpenShift.
func template() string {
	var text strings.Builder
	text.WriteString(`apiVersion: template.openshift.io/v1
kind: Template
parameters:
- {name: SHADE, value: "COLOUR"}
- {name: PICTURE, value: "IMAGE"}
objects:
`)
	for part := range strings.SplitSeq(strings.NewReplacer("COLOUR", "${SHADE}", "IMAGE", "${PICTURE}").Replace(shop), "---") {
		text.WriteString("- " + strings.ReplaceAll(strings.TrimSpace(part), "\n", "\n  ") + "\n")
	}
	return text.String()
}

// formats are the shop in each format, as files.
func formats() map[string]map[string]string {
	parts := strings.Split(shop, "---")
	return map[string]map[string]string{
		"plain":              {"shop.yaml": shop},
		"kustomize":          {"kustomization.yaml": "resources: [shop.yaml]\n", "shop.yaml": shop},
		"openshift-template": {"shop.yaml": template()},
		"helm": {
			"Chart.yaml":          "{apiVersion: v2, name: shop, version: 0.1.0}\n",
			"values.yaml":         "{colour: COLOUR, image: IMAGE}\n",
			"templates/shop.yaml": strings.NewReplacer("COLOUR", "{{ .Values.colour }}", "IMAGE", "{{ .Values.image }}").Replace(shop),
		},
		"registry-v1": {
			"metadata/annotations.yaml": `annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: web
`,
			"manifests/web.yaml": operator, "manifests/page.yaml": parts[0], "manifests/service.yaml": parts[2],
		},
	}
}

// bundle is a folder with the shop, of a format, a colour and an image.
func bundle(t *testing.T, format, colour, image string) string {
	t.Helper()
	folder := t.TempDir()
	words := strings.NewReplacer("COLOUR", colour, "IMAGE", image)
	for name, text := range formats()[format] {
		file := filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(words.Replace(text)), 0o600))
	}
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

// left are the objects that the namespace holds, by kind and name.
func (w *world) left() []string {
	return strings.Fields(w.Kubectl(w.t, "-n", w.namespace, "get", "all,configmaps,secrets,endpointslices", "-o", "name"))
}

// A bundle of each format is installed in order and healthy (BUNDLES.md 1 and 2). An upgrade
// that cannot become healthy goes back by itself, without a Job run again (BUNDLES.md 6), and
// is not tried again. Uninstalled, the namespace is what it was (BUNDLES.md 7). All formats
// go side by side, however many tests may: they wait for the most part.
func TestBundle(t *testing.T) {
	t.Parallel()
	program := controlplane.Binary(t, "orcon")
	var all sync.WaitGroup
	for format := range formats() {
		all.Go(func() {
			t.Run(format, func(t *testing.T) { goesBack(withOrcon(t).inUnlabelled(), program, format) })
		})
	}
	all.Wait()
}

func goesBack(w *world, program, format string) {
	t := w.t
	install := func(colour, image, patience string) (int, string) {
		return w.orcon(program, "install", bundle(t, format, colour, image), "--format", format, "--name", "shop", "--yes", "--timeout", patience)
	}
	require.Eventually(t, func() bool { return len(w.left()) > 0 }, patience, time.Second, "the cluster's own ConfigMap is there")
	before := w.left()

	code, out := install("blue", "busybox:stable", patience.String())
	require.Zero(t, code, out)
	made := w.shopped()
	require.GreaterOrEqual(t, len(made), 4, "%v", made)
	jobs := w.jobs()
	for _, job := range jobs {
		assert.Equal(t, "hello from blue", strings.TrimSpace(w.Kubectl(t, "-n", w.namespace, "logs", "job/"+job)))
	}

	code, out = install("green", "registry.invalid/none:1", "90s")
	assert.Equal(t, 3, code, "time was up: %s", out)
	assert.Contains(t, out, "registry.invalid/none:1", "it says what holds it up")
	assert.Contains(t, out, "the last healthy content is back as revision 3")
	assert.Equal(t, made, w.shopped(), "nothing is lost, and nothing of the failed one stays")
	assert.Equal(t, jobs, w.jobs(), "no Job ran again")
	assert.Contains(t, w.Kubectl(t, "-n", w.namespace, "get", "configmap", "page", "-o", "yaml"), "hello from blue")
	w.Kubectl(t, "-n", w.namespace, "rollout", "status", "deployment/web", "--timeout=60s")

	code, out = install("green", "registry.invalid/none:1", patience.String())
	assert.Equal(t, 2, code, "what has failed is not tried again: %s", out)

	code, out = w.orcon(program, "uninstall", "shop", "--yes", "--timeout", patience.String())
	require.Zero(t, code, out)
	require.Eventually(t, func() bool { return assert.ObjectsAreEqual(before, w.left()) }, patience, time.Second, "%v and not %v", before, w.left())
}

// A Deployment whose containers exit at once is not healthy, although the kubelet calls them ready
// each time before they do; what was healthy before comes back (BUNDLES.md 6).
func TestCrashLoopIsNotHealthy(t *testing.T) {
	t.Parallel()
	program, w := controlplane.Binary(t, "orcon"), withOrcon(t).inUnlabelled()
	install := func(command, patience string) (int, string) {
		folder := t.TempDir()
		text := strings.ReplaceAll(unprobed, "COMMAND", command)
		require.NoError(t, os.WriteFile(filepath.Join(folder, "up.yaml"), []byte(text), 0o600))
		return w.orcon(program, "install", folder, "--name", "up", "--yes", "--timeout", patience)
	}
	code, out := install("sleep 1000", patience.String())
	require.Zero(t, code, out)
	code, out = install("echo boom; exit 1", "60s")
	assert.NotZero(t, code, out)
	assert.Contains(t, out, "exited with code 1 (Error)")
	assert.Contains(t, out, "the last healthy content is back as revision 3")
}

// unprobed is a Deployment without a readiness probe.
const unprobed = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: up}
spec:
  strategy: {type: Recreate}
  selector: {matchLabels: {app: up}}
  template:
    metadata: {labels: {app: up}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: up, image: "busybox:stable", command: [sh, -c, "COMMAND"]}]
`

// shopped are the objects of the shop, each with its UID.
func (w *world) shopped() []string {
	w.t.Helper()
	return strings.Fields(w.kubectl("get", "configmaps,deployments,services,jobs,serviceaccounts,roles,rolebindings", "-o", `jsonpath={range .items[*]}{.kind}/{.metadata.name}={.metadata.uid}{"\n"}{end}`))
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
