package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// A pod whose agent cannot reach the controller says so in its Events and on its application, although
// the data is complete (TRUST.md A4).
func TestUnreachableController(t *testing.T) {
	t.Parallel()
	w := withOrcon(t)
	w.apply(external("db-endpoint", "db", "db.tengu.io"))
	lost := workload{kind: "Deployment", name: "lost", annotations: consumesDB}.yaml()
	w.apply(strings.Replace(lost, "      containers:\n", "      hostAliases: [{ip: 127.0.0.1, hostnames: [relations-controller.orcon-system.svc]}]\n      containers:\n", 1))
	pod := w.waiting("lost", 1)[0]
	w.contains("Startup probe failed: relation-agent: cannot reach the controller at https://relations-controller.orcon-system.svc",
		"get", "events", "--field-selector", "involvedObject.name="+pod.Name, "-o", "jsonpath={.items[*].message}")
	const message = `jsonpath={.status.conditions[?(@.type=="AgentFailed")].message}`
	w.contains("the gate of pod "+pod.Name+" is closed although its data is complete", "get", "relatedapplication", "lost", "-o", message)
	now := w.waiting("lost", 1)[0]
	assert.Equal(t, pod.UID, now.UID)
	assert.Zero(t, agentStatus(&now).RestartCount, "an attempt that ends restarts nothing")
	w.kubectl("patch", "deployment", "lost", "--type=json", `-p=[{"op":"remove","path":"/spec/template/spec/hostAliases"}]`)
	w.running("lost", 1)
	w.prints("", "get", "relatedapplication", "lost", "-o", message)
}

// Where the kubelet leaves variables from files empty, as before Kubernetes 1.35, no container starts with empty
// ones: the gate stays shut, and says why (TRUST.md A5).
func kubeletWithoutEnvFiles(t *testing.T, c *controlplane.Cluster) {
	w := newWorld(t, c)
	w.apply(external("db-endpoint", "db", "db.tengu.io"))
	file := filepath.Join(c.Dir, "kubelet.yaml")
	usual, err := os.ReadFile(file)
	require.NoError(t, err)
	kubelet := func(configuration string) {
		c.Run(t, "stop", "kubelet")
		require.NoError(t, os.WriteFile(file, []byte(configuration), 0o600))
		c.StartComponent(t, "kubelet")
	}
	kubelet(string(usual) + "featureGates: {EnvFiles: false}\n")
	w.apply(workload{kind: "Deployment", name: "app", annotations: consumesDB, script: complete("db-endpoint", "db.tengu.io") + "exec sleep infinity"}.yaml())
	const message = `jsonpath={.status.conditions[?(@.type=="AgentFailed")].message}`
	w.contains("EnvFiles: the kubelet of this node does not read variables from files", "get", "relatedapplication", "app", "-o", message)
	for _, p := range w.pods("app") {
		assert.NotNil(t, mainStatus(&p).State.Waiting, "its container has not begun")
		assert.Zero(t, mainStatus(&p).RestartCount)
	}

	handled := sleeper("Deployment", "handled", consumesDB)
	handled = strings.Replace(handled, "annotations: {}", `annotations: {tengu.io/on-change: 'exec:["true"]', injector.tengu.io/handler-image: "busybox:stable"}`, 1)
	w.apply(handled)
	pod := w.until("handled", 1, "waiting with its handlers", func(p *corev1.Pod) bool {
		handlers := statusOf(p.Status.InitContainerStatuses, "relation-handlers")
		return handlers != nil && handlers.State.Running != nil
	})[0]
	w.contains("Startup probe failed: relation-agent: EnvFiles:",
		"get", "events", "--field-selector", "involvedObject.name="+pod.Name, "-o", "jsonpath={.items[*].message}")
	now := w.pods("handled")[0]
	assert.NotNil(t, mainStatus(&now).State.Waiting)

	kubelet(string(usual))
	w.kubectl("delete", "pods", "--all", "--wait=false")
	w.running("app", 1)
	w.running("handled", 1)
	w.prints("", "get", "relatedapplication", "app", "-o", message)
}

// A copy of an injected pod, as kubectl debug --copy-to makes it, starts without the data that nobody gives it,
// also if it keeps its startup probes (TRUST.md A8).
func TestCopiedPod(t *testing.T) {
	t.Parallel()
	w := withOrcon(t)
	w.apply(external("db-endpoint", "db", "db.tengu.io"))
	w.apply(sleeper("Deployment", "app", consumesDB))
	pod := w.running("app", 1)[0]
	copied := corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, Spec: *pod.Spec.DeepCopy()}
	copied.Name, copied.Spec.NodeName = "copied", "" // it keeps neither labels nor annotations
	text, err := json.Marshal(copied)
	require.NoError(t, err)
	w.apply(string(text))
	w.eventually(func() string {
		now, err := w.client.CoreV1().Pods(w.namespace).Get(t.Context(), "copied", metav1.GetOptions{})
		require.NoError(t, err)
		if ready(now) {
			return ""
		}
		return fmt.Sprintf("the copy has not started: %+v", now.Status.InitContainerStatuses)
	})
	assert.Empty(t, w.sh("copied", "echo $DB; ls /bindings"))
}
