package webhook

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// labels of a namespace that mean nothing are taken, with a warning.
func (w *webhookWorld) labels(t *testing.T) {
	root, err := controlplane.Root()
	require.NoError(t, err)
	manifest := filepath.Join(root, "deployment", "rbac", "namespace-labels.yaml")
	w.cluster.Kubectl(t, "apply", "-f", manifest)
	t.Cleanup(func() { w.cluster.Kubectl(t, "delete", "-f", manifest) })
	namespace := w.namespace("labels", nil)
	label := func(text string) string {
		out, err := w.kubectl(t, "", "label", "namespace", namespace, "--overwrite", text)
		require.NoError(t, err, out)
		return out
	}
	wrong := func() bool {
		label("tengu.io/schema-")
		return strings.Contains(label("tengu.io/schema=enforc"), "label tengu.io/schema: enforc counts as warn: write warn, enforce or off")
	}
	controlplane.Eventually(t, wrong, 30*time.Second, "a policy counts some time after it is made")
	assert.NotContains(t, label("tengu.io/schema=enforce"), "Warning")
	assert.Contains(t, label("tengu-injector=true"), "label tengu-injector: true does not opt the namespace in: write enabled")
	assert.NotContains(t, label("tengu-injector=disabled"), "Warning")
	assert.NotContains(t, label("tengu-injector=enabled"), "Warning")
}
