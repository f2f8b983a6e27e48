package e2e

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/test/docs"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// What begins on a bare cluster, and leaves one, one after the other; only the last leaves
// cert-manager's definitions and Orcon.
func TestBareCluster(t *testing.T) {
	t.Parallel()
	c := controlplane.Start(t, controlplane.Node)
	loadImages(t, c)
	require.True(t, t.Run("ExamplePlatform", func(t *testing.T) { examplePlatform(t, c) }))
	require.True(t, t.Run("InstallsItself", func(t *testing.T) { installsItself(t, c) }))
	require.True(t, t.Run("RotateCertManager", func(t *testing.T) { rotateCertManager(t, c) }))
}

// installs has Orcon install itself, twice: what it writes while it runs, such as whom to
// trust, is no change.
func installs(t *testing.T, c *controlplane.Cluster, variant string) {
	t.Helper()
	w := &world{Cluster: c, t: t, client: c.Client(t), namespace: "default"}
	program := controlplane.Binary(t, "orcon")
	for _, want := range []string{"is healthy: revision 1", "nothing to change"} {
		code, out := w.orcon(program, "install", "builtin:"+variant, "--name", "orcon", "--yes", "--timeout", patience.String())
		require.Zero(t, code, out)
		assert.Contains(t, out, want)
	}
	w.checks(program)
}

// checks runs orcon check without a namespace that opted in, which it reports, and with one
// where a declaring pod is created in a dry run.
func (w *world) checks(program string) {
	w.t.Helper()
	const opted = "opted-in"
	check := func(want int) {
		w.t.Helper()
		w.eventually(func() string { // the webhooks receive their authority a moment later
			command := exec.CommandContext(w.t.Context(), program, "check", "--kubeconfig", w.Kubeconfig)
			if out, _ := command.CombinedOutput(); command.ProcessState.ExitCode() != want {
				return fmt.Sprintf("exit code %d, not %d: %s", command.ProcessState.ExitCode(), want, out)
			}
			return ""
		})
	}
	check(3)
	w.Kubectl(w.t, "create", "namespace", opted)
	w.Kubectl(w.t, "label", "namespace", opted, "tengu-injector=enabled")
	check(0)
	w.Kubectl(w.t, "-n", "orcon-system", "scale", "deployment", "--all", "--replicas=0")
	check(1)
	w.Kubectl(w.t, "-n", "orcon-system", "scale", "deployment", "--all", "--replicas=2")
	check(0)
	w.Kubectl(w.t, "delete", "namespace", opted)
}

// removes uninstalls with all that a refusal asks to confirm.
func (w *world) removes(program, name, refusal string) {
	w.t.Helper()
	args := []string{"uninstall", name, "--yes", "--timeout", patience.String()}
	words := strings.Fields(refusal)
	for i, word := range words {
		if word == "--confirm" {
			args = append(args, word, words[i+1])
		}
	}
	code, out := w.orcon(program, args...)
	require.Zero(w.t, code, out)
}

// Orcon installs itself on a bare cluster, and uninstalled it leaves what was there before,
// no more and no less (BUNDLES.md 7), if a person follows the page that tells how.
func installsItself(t *testing.T, c *controlplane.Cluster) {
	before := c.Snapshot(t)
	installs(t, c, "selfsigned")
	require.True(t, t.Run("Docs", func(t *testing.T) { documented(t, c, docs.BareCluster) }))
	require.Eventually(t, func() bool { return assert.ObjectsAreEqual(before, c.Snapshot(t)) }, patience, time.Second, "what was stored is collected")
}
