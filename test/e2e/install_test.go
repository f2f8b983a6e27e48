package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
// trust, is no change. It returns what uninstalls it.
func installs(t *testing.T, c *controlplane.Cluster, variant string) (uninstall func()) {
	t.Helper()
	w := &world{Cluster: c, t: t, client: c.Client(t), namespace: "default"}
	program := controlplane.Binary(t, "orcon")
	for _, want := range []string{"is healthy: revision 1", "nothing to change"} {
		code, out := w.orcon(program, "install", "builtin:"+variant, "--name", "orcon", "--yes", "--timeout", patience.String())
		require.Zero(t, code, out)
		assert.Contains(t, out, want)
	}
	w.eventually(func() string { // the controller says whom to trust a moment later
		if code, out := w.orcon(program, "check"); code != 0 {
			return out
		}
		return ""
	})
	return func() {
		_, plan := w.orcon(program, "uninstall", "orcon", "--yes")
		w.removes(program, "orcon", plan)
	}
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
// no more and no less (BUNDLES.md 7).
func installsItself(t *testing.T, c *controlplane.Cluster) {
	before := c.Snapshot(t)
	uninstall := installs(t, c, "selfsigned")
	uninstall()
	require.Eventually(t, func() bool { return assert.ObjectsAreEqual(before, c.Snapshot(t)) }, patience, time.Second, "what was stored is collected")
}
