package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/test/docs"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// The bundle controller runs as an integration that the data declare, by deployment/fleet-chart, and takes over from the
// installed one; a person who follows docs/how-to/manage-the-manager.md sees all of it (FLEET.md O6).
func TestManager(t *testing.T) {
	t.Parallel()
	c := controlplane.Start(t, controlplane.Node)
	loadImages(t, c)
	w := newWorld(t, c)
	w.namespace = "orcon-system"
	c.Kubectl(t, "create", "namespace", w.namespace)
	c.Kubectl(t, "apply", "-k", deployment(t, "crd"))
	c.Established(t)
	code, out := w.orcon(controlplane.Binary(t, "orcon"), "install", "builtin:bundle-controller", "--name", "orcon-bundles", "--yes")
	require.Zero(t, code, out)
	documented(t, c, docs.OwnCluster)
}
