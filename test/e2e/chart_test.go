package e2e

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// The Helm chart installs Orcon into a namespace of any name, where it does its work, and
// leaves nothing (FIRST-HOUR, "To have in hand").
func installsByChart(t *testing.T, c *controlplane.Cluster) {
	chart := filepath.Join(repository(t), "dist", "orcon-chart.tgz")
	produce(t, chart, sinceTestsBegan(), "build/builder", "chart")
	before := c.Snapshot(t)
	program := controlplane.Binary(t, "orcon")
	c.Kubectl(t, "create", "namespace", "relations")
	orcon := &world{Cluster: c, t: t, client: c.Client(t), namespace: "relations"}
	install := []string{"install", chart, "--name", "orcon", "--set", "relationsController.replicas=1", "--yes", "--timeout", patience.String()}
	code, out := orcon.orcon(program, install...)
	require.Zero(t, code, out)
	orcon.prints("1 2", "get", "deployments", "-o", "jsonpath={.items[*].spec.replicas}")

	var namespace string
	t.Run("Story", func(t *testing.T) {
		w := newWorld(t, c)
		namespace = w.namespace
		w.reads("db.tengu.io", w.consumer().Name, "/bindings/db/host")
	})
	c.Kubectl(t, "wait", "--for=delete", "namespace/"+namespace, "--timeout="+patience.String())
	code, out = orcon.orcon(program, "uninstall", "orcon", "--yes", "--timeout", patience.String())
	require.Zero(t, code, out)
	// The definitions stay, and go with Orcon's namespace.
	leave := exec.CommandContext(t.Context(), program, "leave", "--end", "--yes", "--kubeconfig", c.Kubeconfig)
	said, err := leave.CombinedOutput()
	require.NoError(t, err, "%s", said)
	c.Kubectl(t, "delete", "namespace", "relations", "--ignore-not-found")
	leftAlone(t, c, before)
}

// leftAlone waits until a cluster has the objects of a snapshot, and no others: the garbage
// collector needs a moment.
func leftAlone(t *testing.T, c *controlplane.Cluster, before []string) {
	t.Helper()
	require.EventuallyWithT(t, func(collect *assert.CollectT) {
		assert.ElementsMatch(collect, before, c.Snapshot(t), "objects are left, or missing")
	}, patience, time.Second)
}
