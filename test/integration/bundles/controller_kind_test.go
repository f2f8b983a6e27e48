package bundles

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// podless returns a workload without pods.
func podless(kind, fields string) string {
	return "---\napiVersion: apps/v1\nkind: " + kind + "\nmetadata: {name: web}\nspec:\n  replicas: 0\n  selector: {matchLabels: {app: web}}\n" +
		fields + "  template:\n    metadata: {labels: {app: web}}\n    spec: {containers: [{name: web, image: none}]}\n"
}

// storage returns the claim of a StatefulSet.
func storage(size string) string {
	return "  serviceName: web\n  volumeClaimTemplates:\n  - metadata: {name: data}\n" +
		"    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: " + size + "}}}\n"
}

// A workload of another kind is created when the one of its name is gone. A StatefulSet with claims is made again only once a
// person confirms it (FLEET-DESIGN 17).
func TestKindChange(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	d := w.bundle(podless("Deployment", ""))
	d.Spec.Prune.KindChange = string(bundle.DeleteFirst)
	require.NoError(t, w.admin.Create(w.ctx, d))
	w.ready(d, "Healthy")

	deployments, sets := w.client.AppsV1().Deployments(w.namespace), w.client.AppsV1().StatefulSets(w.namespace)
	keep := func(finalizers string) {
		_, err := deployments.Patch(w.ctx, "web", types.MergePatchType, []byte(`{"metadata":{"finalizers":`+finalizers+`}}`), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	keep(`["example.org/keep"]`)
	w.source("content-shop", podless("StatefulSet", storage("1Mi")))
	controlplane.Eventually(t, func() bool {
		before, err := deployments.Get(w.ctx, "web", metav1.GetOptions{})
		return err == nil && before.DeletionTimestamp != nil
	}, soon)
	assert.Contains(t, w.ready(d, "Progressing"), "waits for the end of Deployment "+w.namespace+"/web, which is being deleted")
	_, err := sets.Get(w.ctx, "web", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "both would run")
	keep(`null`)
	w.ready(d, "Healthy")
	first, err := sets.Get(w.ctx, "web", metav1.GetOptions{})
	require.NoError(t, err)

	w.source("content-shop", podless("StatefulSet", storage("2Mi")))
	assert.Contains(t, w.ready(d, "Claims"), "changes of its claims have no effect on those that exist: StatefulSet "+w.namespace+"/web")
	code, out := newCommandLine(t, w.cluster).run("approve shop --yes -n " + w.namespace + " --confirm StatefulSet/web")
	require.Zero(t, code, out)
	w.ready(d, "Healthy")
	again, err := sets.Get(w.ctx, "web", metav1.GetOptions{})
	require.NoError(t, err)
	assert.NotEqual(t, first.UID, again.UID)
}
