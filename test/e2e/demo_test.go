package e2e

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// What is installed and uninstalled on a cluster of others leaves it as it was, one after the
// other.
func TestClusterOfOthers(t *testing.T) {
	t.Parallel()
	c := controlplane.Start(t, controlplane.Node)
	loadImages(t, c)
	require.True(t, t.Run("InstallsByChart", func(t *testing.T) { installsByChart(t, c) }))
	require.True(t, t.Run("DemoInContext", func(t *testing.T) { demoInContext(t, c) }))
}

// make demo CONTEXT=… leaves a cluster as it was: after its story, after Ctrl-C, after a
// failure, and where it refuses to run (FIRST-HOUR, "To have in hand").
func demoInContext(t *testing.T, c *controlplane.Cluster) {
	context := strings.TrimSpace(c.Kubectl(t, "config", "current-context"))
	before := c.Snapshot(t)
	tests := []struct {
		name, why string
		settings  []string
		// interrupt is a line of the output after which Ctrl-C is pressed.
		interrupt string
		code      int
		want      string
	}{
		{name: "Story", why: "the story is told", want: "Done: found, started and changed without a restart"},
		{name: "Interrupted", why: "in the middle of the installation", interrupt: "healthy", code: 130, want: "is deleted"},
		{name: "Failed", why: "images that cannot be pulled", settings: []string{"TAG=missing", "TIMEOUT=10s"}, code: 3, want: "is deleted"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			code, out := demo(t, c, tc.interrupt, append(tc.settings, "CONTEXT="+context)...)
			assert.Equal(t, tc.code, code, "%s\n%s", tc.why, out)
			assert.Contains(t, out, tc.want, tc.why)
			leftAlone(t, c, before)
		})
	}

	t.Run("Refused", func(t *testing.T) {
		c.Kubectl(t, "create", "clusterrole", "relations-controller", "--verb=get", "--resource=pods")
		defer c.Kubectl(t, "delete", "clusterrole", "relations-controller")
		code, out := demo(t, c, "", "CONTEXT="+context)
		assert.Equal(t, 1, code)
		assert.Contains(t, out, "clusterrole.rbac.authorization.k8s.io/relations-controller")
		c.Kubectl(t, "get", "clusterrole", "relations-controller") // it is not the demo's
		code, out = demo(t, c, "", "CONTEXT=nowhere")
		assert.Equal(t, 1, code)
		assert.Contains(t, out, "choose one of: "+context)
	})
}

// demo runs the script as a terminal does, and presses Ctrl-C after a line that holds a text.
func demo(t *testing.T, c *controlplane.Cluster, interrupt string, settings ...string) (int, string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(repository(t), "scripts", "demo.sh"))
	command.Env = append(append(os.Environ(), "KUBECONFIG="+c.Kubeconfig), settings...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	read, write, err := os.Pipe()
	require.NoError(t, err)
	command.Stdout, command.Stderr = write, write
	require.NoError(t, command.Start())
	require.NoError(t, write.Close())
	var out strings.Builder
	for lines := bufio.NewScanner(read); lines.Scan(); {
		out.WriteString(lines.Text() + "\n")
		if interrupt != "" && strings.Contains(lines.Text(), interrupt) {
			interrupt = ""
			require.NoError(t, syscall.Kill(-command.Process.Pid, syscall.SIGINT))
		}
	}
	_ = command.Wait() // its code is looked at
	t.Logf("demo.sh %s\n%s", strings.Join(settings, " "), &out)
	return command.ProcessState.ExitCode(), out.String()
}
