package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// theirs is a tenguconfig.yaml of the prototype's kind: a list of containers.
const theirs = `apiVersion: v1
kind: ConfigMap
metadata: {name: relations-mutating-webhook, namespace: default}
data:
  tenguconfig.yaml: |
    initContainers:
    - name: check-environment
      image: busybox:stable
      imagePullPolicy: IfNotPresent
      command: [sh, -c, "echo checked"]
      resources: {requests: {cpu: 1m}}
`

// typeConfiguration: the prototype's configuration is read, followed, and
// injected as written, before the agent. Every container and init container of
// the pod's author has the variables.
func typeConfiguration(t *testing.T, c terminal) {
	w := newWorld(t, c.Cluster)
	file := filepath.Join(t.TempDir(), "controller-configmap.yaml")
	require.NoError(t, os.WriteFile(file, []byte(theirs), 0o600))
	c.types(t, "kubectl apply -f "+file)
	w.apply(external("db-endpoint", "db", "db.tengu.io"))
	pod := w.pod("app")
	w.eventually(func() string {
		return w.dryRun(pod, "check-environment", "relation-agent", "relation-canary", "before")
	})

	created, err := w.client.CoreV1().Pods(w.namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
	written := created.Spec.InitContainers[0]
	assert.Equal(t, []string{"sh", "-c", "echo checked"}, written.Command)
	assert.Equal(t, "1m", written.Resources.Requests.Cpu().String())
	assert.Nil(t, written.SecurityContext, "as it is written")
	w.running("app", 1)
	assert.Equal(t, "checked\n", w.log("app", "check-environment"))
	assert.Equal(t, "db.tengu.io\n", w.log("app", "before"), "an init container has the variables")
	assert.Equal(t, "db.tengu.io", w.sh("app", `echo "$DB"`), "and so has a container")

	c.types(t, "kubectl apply -f deployment/relations-mutating-webhook/controller-configmap.yaml")
	w.eventually(func() string { return w.dryRun(pod, "relation-agent", "relation-canary", "before") })
}

// pod is a consumer of db with an init container that prints its variable.
func (w *world) pod(name string) *corev1.Pod {
	grace := int64(1)
	container := func(name, script string) corev1.Container {
		return corev1.Container{Name: name, Image: "busybox:stable", ImagePullPolicy: corev1.PullIfNotPresent, Command: []string{"sh", "-c", script}}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: w.namespace, Labels: map[string]string{"app": name},
			Annotations: map[string]string{"tengu.io/consumes": "db", "tengu.io/relations": "db-endpoint"},
		},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: &grace,
			InitContainers:                []corev1.Container{container("before", `echo "$DB"`)},
			Containers:                    []corev1.Container{container("main", "exec sleep infinity")},
		},
	}
}

// dryRun says what is wrong with the init containers that a pod would get.
func (w *world) dryRun(pod *corev1.Pod, want ...string) string {
	tried := pod.DeepCopy()
	tried.Name, tried.GenerateName = "", "tried-"
	got, err := w.client.CoreV1().Pods(w.namespace).Create(w.t.Context(), tried, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return err.Error()
	}
	var names []string
	for _, container := range got.Spec.InitContainers {
		names = append(names, container.Name)
	}
	if strings.Join(names, " ") == strings.Join(want, " ") {
		return ""
	}
	return fmt.Sprintf("init containers are %q, not %q", names, want)
}

// typeDevelop replays Telepresence, which needs a traffic manager of its own:
// the Deployment is swapped for this machine, and a shell has the pod's
// environment and its volumes below a folder.
func typeDevelop(t *testing.T, c terminal) {
	w := newWorld(t, c.Cluster)
	w.apply(external("db-endpoint", "db", "db.tengu.io"))
	env := append(os.Environ(), telepresence(t, c)...)
	swap(t, c)

	log := develop(t, c, env, "exec ./bin/relations-mutating-webhook -tenguCfgFile=/etc/webhook/config/tenguconfig.yaml "+
		"-tlsCertFile=/etc/webhook/certs/cert.pem -tlsKeyFile=/etc/webhook/certs/key.pem -alsologtostderr -v=4\n")
	pod := w.pod("app")
	w.eventually(func() string {
		if missing := w.dryRun(pod, "relation-agent", "relation-canary", "before"); missing != "" {
			return missing + "; the webhook says\n" + log()
		}
		return ""
	})
	_, err := w.client.CoreV1().Pods(w.namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
	assertReached(t, w.running("app", 1)[0])
	assert.Contains(t, log(), "pod "+w.namespace+"/app consumes db: Injected", "it was this process that answered")
}

// assertReached asserts that a pod with an init container of its own was injected.
func assertReached(t *testing.T, pod corev1.Pod) {
	t.Helper()
	assert.Equal(t, "injected", pod.Annotations["injector.tengu.io/status"])
	assert.Equal(t, "relation-agent", pod.Spec.InitContainers[0].Name)
}

// telepresence lays out what Telepresence mounts and returns the environment
// that it gives: the pod's, and where the volumes are.
func telepresence(t *testing.T, c terminal) []string {
	t.Helper()
	root := t.TempDir()
	const account = "/var/run/secrets/kubernetes.io/serviceaccount"
	for file, command := range map[string]string{
		account + "/token":                     "kubectl create token relations-mutating-webhook | tr -d '\\n'",
		account + "/ca.crt":                    "kubectl get configmap kube-root-ca.crt -o jsonpath='{.data.ca\\.crt}'",
		account + "/namespace":                 "printf default",
		"/etc/webhook/config/tenguconfig.yaml": "kubectl get configmap relations-mutating-webhook -o jsonpath='{.data.tenguconfig\\.yaml}'",
		"/etc/webhook/certs/cert.pem":          "kubectl get secret tengu-controllers-certs -o jsonpath='{.data.cert\\.pem}' | base64 -d",
		"/etc/webhook/certs/key.pem":           "kubectl get secret tengu-controllers-certs -o jsonpath='{.data.key\\.pem}' | base64 -d",
	} {
		at := filepath.Join(root, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o750))
		require.NoError(t, os.WriteFile(at, []byte(c.types(t, command)), 0o600))
	}
	image := c.types(t, `kubectl get deployment relations-mutating-webhook -o jsonpath='{.spec.template.spec.containers[0].env[?(@.name=="ORCON_AGENT_IMAGE")].value}'`)
	host := c.types(t, "kubectl get service kubernetes -o jsonpath='{.spec.clusterIP}'")
	return []string{
		"TELEPRESENCE_ROOT=" + root, "TELEPRESENCE_MOUNTS=" + account + ":/etc/webhook/config:/etc/webhook/certs", "KUBECONFIG=",
		"POD_NAMESPACE=default", "ORCON_AGENT_IMAGE=" + image, "KUBERNETES_SERVICE_HOST=" + host, "KUBERNETES_SERVICE_PORT=443", "SHELL=/bin/sh",
	}
}

// swap is what "telepresence --swap-deployment NAME --expose 8080" does to the
// cluster: the Service leads to port 8080 of this machine, here of the node.
func swap(t *testing.T, c terminal) {
	t.Helper()
	c.types(t, "kubectl scale deployment/relations-mutating-webhook --replicas=0")
	c.types(t, "kubectl wait --for=delete pod -l app.kubernetes.io/name=relations-mutating-webhook --timeout=300s")
	address := c.types(t, `kubectl get nodes -o jsonpath='{.items[0].status.addresses[?(@.type=="InternalIP")].address}'`)
	slice, err := json.Marshal(map[string]any{
		"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
		"metadata":  map[string]any{"name": "telepresence", "namespace": "default", "labels": map[string]string{"kubernetes.io/service-name": webhookName}},
		"ports":     []any{map[string]any{"name": "webhook", "port": 8080}},
		"endpoints": []any{map[string]any{"addresses": []string{address}, "conditions": map[string]bool{"ready": true}}},
	})
	require.NoError(t, err)
	c.types(t, "kubectl apply -f - <<'END'\n"+string(slice)+"\nEND\n")
}

// develop runs the script, types a line into its shell, and returns what can be
// read of the output. It ends with the test.
func develop(t *testing.T, c terminal, env []string, line string) func() string {
	t.Helper()
	c.types(t, "TELEPRESENCE_ROOT=/ TELEPRESENCE_MOUNTS=/etc ./scripts/simulate-volume-mounts.sh true") // installs proot
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "nsenter", fmt.Sprintf("--net=/proc/%d/ns/net", c.NetnsPID), "--", "./scripts/simulate-volume-mounts.sh")
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.root, env, strings.NewReader(line), file, file
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Wait()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	})
	return func() string {
		text, err := os.ReadFile(file.Name())
		require.NoError(t, err)
		return string(text)
	}
}
