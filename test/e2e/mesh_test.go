package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// With the rules of a mesh's CNI plugin, which send every connection but those to the excluded ports to a proxy that
// does not run yet, a pod does not wait for itself; and no other port is excluded (TRUST.md A3).
func TestMesh(t *testing.T) {
	t.Parallel()
	w := withOrcon(t)
	w.apply(sleeper("Deployment", "meshed", consumesDB))
	pod := w.waiting("meshed", 1)[0]
	excluded := pod.Annotations["traffic.sidecar.istio.io/excludeOutboundPorts"]
	assert.Equal(t, "9466", excluded)
	assert.Equal(t, excluded, pod.Annotations["config.linkerd.io/skip-outbound-ports"])
	agent := w.agentOf(pod)
	redirect := func(verb string) {
		netns := "--net=/proc/" + strconv.Itoa(agent.Pid) + "/ns/net"
		out, err := exec.CommandContext(t.Context(), "nsenter", netns, "iptables", "-t", "nat", verb, "OUTPUT",
			"-p", "tcp", "!", "--dport", excluded, "-j", "REDIRECT", "--to-ports", "15001").CombinedOutput()
		require.NoError(t, err, string(out))
	}
	redirect("-A")
	require.NoError(t, agent.Kill())
	w.until("meshed", 1, "waiting with another agent", func(p *corev1.Pod) bool { return waits(p) && agentStatus(p).RestartCount == 1 })
	agent = w.agentOf(pod)
	w.apply(external("db-endpoint", "db", "db.tengu.io"))
	assert.Equal(t, pod.UID, w.running("meshed", 1)[0].UID, "its agent has connected anew")

	connect := func() string {
		out, _ := w.try("exec", pod.Name, "-c", "main", "--", "sh", "-c", "nc -w 5 kubernetes.default.svc 443 </dev/null && echo connected")
		return out
	}
	assert.Contains(t, strings.ToLower(connect()), "refused", "another 443 is redirected")
	redirect("-D")
	assert.Contains(t, connect(), "connected")
}

// agentOf returns the agent of a pod that waits, beside whose process its probe runs.
func (w *world) agentOf(pod corev1.Pod) *os.Process {
	w.t.Helper()
	var pid string
	w.eventually(func() string {
		folders, err := filepath.Glob("/proc/[0-9]*")
		require.NoError(w.t, err)
		for _, folder := range folders {
			line, _ := os.ReadFile(filepath.Join(folder, "cmdline"))
			environment, _ := os.ReadFile(filepath.Join(folder, "environ"))
			if string(line) == "/relation-agent\x00" && strings.Contains(string(environment), "POD_UID="+string(pod.UID)) {
				pid = filepath.Base(folder)
				return ""
			}
		}
		return "no agent of " + pod.Name
	})
	number, err := strconv.Atoi(pid)
	require.NoError(w.t, err)
	process, err := os.FindProcess(number)
	require.NoError(w.t, err)
	return process
}
