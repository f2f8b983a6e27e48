package bundles

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// An object from before the label gets it, and one with another's: neither is drift, and no new
// revision begins (BUNDLES.md 12).
func TestDeploymentLabelsItsObjects(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	d := w.bundle(blue + extra)
	require.NoError(t, w.admin.Create(w.ctx, d))
	w.ready(d, "Healthy")
	label := func(name string) string {
		c, err := w.client.CoreV1().ConfigMaps(w.namespace).Get(w.ctx, name, metav1.GetOptions{})
		require.NoError(t, err)
		return c.Labels[bundle.DeploymentKey]
	}
	assert.Equal(t, "shop", label("colour"))
	w.cluster.Kubectl(t, "-n", w.namespace, "label", "configmap", "colour", bundle.DeploymentKey+"-")
	w.cluster.Kubectl(t, "-n", w.namespace, "label", "configmap", "extra", "--overwrite", bundle.DeploymentKey+"=other")
	controlplane.Eventually(t, func() bool { return label("colour") == "shop" && label("extra") == "shop" }, soon)

	w.change("extra", "a", "edited")
	w.eventually("Corrected", "ConfigMap "+w.namespace+"/extra was changed (data.a); Orcon undid the change")
	w.ready(d, "Healthy")
	assert.EqualValues(t, 1, d.Status.ActiveRevision)
	events, err := w.client.EventsV1().Events(w.namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, e := range events.Items {
		if e.Reason == "Drifted" || e.Reason == "Corrected" {
			assert.Contains(t, e.Note, "extra was changed (data.a)")
		}
	}
}
