package bundles

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// What a BundleDeployment deployed stays when the definition is deleted while the controller runs. The deployment goes on
// when both are made again (TRUST.md T1).
func TestDeploymentsGoWithTheirDefinition(t *testing.T) {
	t.Parallel()
	c := controlplane.Start(t)
	install(t, c)
	w := operatedIn(t, &world{t: t, cluster: c, client: c.Client(t), namespace: c.NewNamespace(t, "bundle-"), timeout: time.Minute})
	w.controller()
	d := w.bundle(blue)
	again := d.DeepCopy()
	require.NoError(t, w.admin.Create(w.ctx, d))
	w.ready(d, "Healthy")
	before := w.configMaps()

	const definition = "bundledeployments.orcon.tengu.io"
	c.Kubectl(t, "annotate", "crd", definition, "orcon.tengu.io/leave=keep")
	c.Kubectl(t, "delete", "crd", definition, "--timeout=60s")
	assert.Equal(t, before, w.configMaps(), "what was deployed stays")

	root, err := controlplane.Root()
	require.NoError(t, err)
	c.Kubectl(t, "apply", "-k", filepath.Join(root, "deployment", "crd"))
	c.Established(t)
	controlplane.Eventually(t, func() bool { return w.admin.Create(w.ctx, again.DeepCopy()) == nil }, soon, "the deployment is made again")
	w.ready(d, "Healthy")
	assert.Equal(t, before, w.configMaps())
}
