package bundles

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// The plan that is carried out has the bytes that were approved, although a live object has
// changed since in a way that changes no action (BUNDLES.md, Kinds).
func TestDeploymentCarriesOutWhatWasApproved(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	d := w.bundle(broken)
	d.Spec.HealthChecks = []v1alpha1.BundleHealthCheck{{Group: "apps", Kind: "Deployment", Ready: "true"}}
	d.Spec.Approval.Mode = "Digest"
	require.NoError(t, w.admin.Create(w.ctx, d))
	w.ready(d, "WaitingForApproval")
	require.NoError(t, w.approve(d, d.Status.Plan.Digest, "admin"))
	w.ready(d, "Healthy")
	w.source("content-shop", strings.ReplaceAll(broken, "image: none", "image: other"))
	w.ready(d, "WaitingForApproval")
	w.cluster.Kubectl(t, "-n", w.namespace, "scale", "deployment", "web", "--replicas=3")
	require.NoError(t, w.approve(d, d.Status.Plan.Digest, "admin"))
	controlplane.Eventually(t, func() bool {
		w.ready(d, "Healthy")
		return d.Status.HealthyRevision == 2
	}, soon)
	w.edit(d, func() { d.Spec.HistoryLimit = 7 })
	w.ready(d, "Healthy")
}

// A deployment in a namespace that is deleted goes, although its account loses its permissions
// while an object is still being deleted (BUNDLES.md 7).
func TestDeploymentGoesWithItsNamespace(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	d := w.bundle(configMap("a", "1"))
	require.NoError(t, w.admin.Create(w.ctx, d))
	w.ready(d, "Healthy")
	hold := func(finalizers ...string) {
		held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "a"}}
		require.NoError(t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(held), held))
		before := held.DeepCopy()
		held.Finalizers = finalizers
		require.NoError(t, w.admin.Patch(w.ctx, held, client.MergeFrom(before)), "whatever the namespace controller writes meanwhile")
	}
	hold("example.org/backup")
	require.NoError(t, w.client.CoreV1().Namespaces().Delete(w.ctx, w.namespace, metav1.DeleteOptions{}))
	controlplane.Eventually(t, func() bool {
		return apierrors.IsNotFound(w.admin.Get(w.ctx, client.ObjectKeyFromObject(d), d))
	}, soon)
	hold()
}

// forge changes the stored record of a deployment as an editor of its namespace can.
func (w *operated) forge(change func(record map[string]any)) {
	w.t.Helper()
	secrets := w.client.CoreV1().Secrets(w.namespace)
	secret, err := secrets.Get(w.ctx, "orcon-bundle-shop", metav1.GetOptions{})
	require.NoError(w.t, err)
	var stored map[string]any
	require.NoError(w.t, json.Unmarshal(secret.Data["data"], &stored))
	record, _ := stored["record"].(map[string]any)
	change(record)
	secret.Data["data"], err = json.Marshal(stored)
	require.NoError(w.t, err)
	_, err = secrets.Update(w.ctx, secret, metav1.UpdateOptions{})
	require.NoError(w.t, err)
}

// TRUST.md R2: whatever a record says of its revisions, none is carried out that nobody approved.
func TestDeploymentStateIsForged(t *testing.T) {
	t.Parallel()
	for name, states := range map[string]map[string]any{
		"Active":    {"State": "Active", "Begun": true, "Started": time.Now().UTC().Format(time.RFC3339)},
		"Begun":     {"State": "Active"},
		"Succeeded": {"State": "Succeeded", "Begun": true, "Healthy": true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newOperated(t)
			w.controller()
			d := w.bundle(configMap("a", "1"))
			d.Spec.Approval.Mode = "Digest"
			require.NoError(t, w.admin.Create(w.ctx, d))
			w.ready(d, "WaitingForApproval")
			w.forge(func(record map[string]any) {
				revisions, _ := record["Revisions"].([]any)
				revision, _ := revisions[0].(map[string]any)
				maps.Copy(revision, states)
			})
			controlplane.Eventually(t, func() bool {
				w.ready(d, "WaitingForApproval")
				require.NotContains(t, w.configMaps(), "a")
				return d.Status.Plan.Revision == "shop-2"
			}, soon, "it is planned anew")
			require.NoError(t, w.approve(d, d.Status.Plan.Digest, "admin"))
			w.ready(d, "Healthy")
		})
	}
}

// TRUST.md R2: a failed revision does not lead back to a content that nobody approved.
func TestDeploymentWayBackIsForged(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	d := w.bundle(configMap("a", "1"))
	d.Spec.Approval.Mode = "Digest"
	require.NoError(t, w.admin.Create(w.ctx, d))
	w.ready(d, "WaitingForApproval")
	require.NoError(t, w.approve(d, d.Status.Plan.Digest, "admin"))
	w.ready(d, "Healthy")
	for _, value := range []string{"2", "3"} {
		before := d.Status.Plan
		w.source("content-shop", configMap("a", value))
		controlplane.Eventually(t, func() bool {
			require.NoError(t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(d), d))
			return d.Status.Plan != nil && (before == nil || d.Status.Plan.Digest != before.Digest)
		}, soon)
	}
	w.forge(func(record map[string]any) {
		revisions, _ := record["Revisions"].([]any)
		proposed, _ := revisions[1].(map[string]any)
		maps.Copy(proposed, map[string]any{"State": "Succeeded", "Begun": true, "Healthy": true})
		last, _ := revisions[2].(map[string]any)
		maps.Copy(last, map[string]any{"State": "Failed", "Begun": true})
	})
	controlplane.Eventually(t, func() bool {
		require.NoError(t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(d), d))
		require.Equal(t, "1", w.configMaps()["a"]["k"])
		return d.Status.Plan != nil && d.Status.Plan.Revision == "shop-4"
	}, soon, "it is planned anew")
}

// TRUST.md R2: the list of a removal is carried out as it was agreed to.
func TestDeploymentRemovalIsForged(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	d := w.bundle(configMap("a", "1"))
	d.Spec.Prune.ConfirmKinds = []string{"ConfigMap"}
	require.NoError(t, w.admin.Create(w.ctx, d))
	w.ready(d, "Healthy")
	removing := []any{map[string]any{"Kind": "ConfigMap", "Namespace": w.namespace, "Name": "a"}}
	require.NoError(t, w.admin.Delete(w.ctx, d))
	w.ready(d, "Confirm")
	w.forge(func(record map[string]any) { record["Removing"] = removing })
	for range 3 {
		w.edit(d, func() { d.Annotations = map[string]string{"seen": time.Now().String()} })
		w.ready(d, "Confirm")
	}
	assert.Contains(t, w.configMaps(), "a")
	held := &v1alpha1.Approval{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "yes"},
		Spec:       v1alpha1.ApprovalSpec{Deployment: d.Name, PlanDigest: d.Status.Plan.Digest, Author: "admin", ConfirmedObjects: d.Status.Plan.HeldObjects},
	}
	require.NoError(t, w.admin.Create(w.ctx, held))
	controlplane.Eventually(t, func() bool { return apierrors.IsNotFound(w.admin.Get(w.ctx, client.ObjectKeyFromObject(d), d)) }, soon)
	assert.NotContains(t, w.configMaps(), "a")
}

// TRUST.md R2: what a namespace requires of approvals is stronger than a deployment, and only an
// administrator of the namespace changes it.
func TestNamespaceRequiresApproval(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.cluster.Kubectl(t, "annotate", "namespace", w.namespace, "orcon.tengu.io/approval=Digest", "orcon.tengu.io/self-approval=Forbid")
	w.controller()
	d := w.bundle(configMap("a", "1"))
	controlplane.Eventually(t, func() bool { // policies see an annotation of a namespace a moment later
		return w.admin.Create(w.ctx, d.DeepCopy(), client.DryRunAll) != nil
	}, soon)
	require.ErrorContains(t, w.admin.Create(w.ctx, d), "annotation orcon.tengu.io/requester must say who asks for it, and you are admin")
	d.Annotations = map[string]string{v1alpha1.RequesterKey: "admin"}
	require.NoError(t, w.admin.Create(w.ctx, d))
	w.ready(d, "WaitingForApproval")
	require.NoError(t, w.approve(d, d.Status.Plan.Digest, "admin"))
	controlplane.Eventually(t, func() bool {
		return strings.Contains(w.ready(d, "WaitingForApproval"), `the Approval by "admin" must come from another person`)
	}, soon)
	assert.NotContains(t, w.configMaps(), "a")

	editor := w.as("editor-"+w.namespace, "edit")
	labels := "labels-" + w.namespace
	w.cluster.Kubectl(t, "create", "clusterrole", labels, "--verb=get,update,patch", "--resource=namespaces,namespaces/status,namespaces/finalize")
	w.cluster.Kubectl(t, "create", "clusterrolebinding", labels, "--clusterrole="+labels, "--user=editor-"+w.namespace, "--user=boss-"+w.namespace)
	t.Cleanup(func() { w.cluster.Kubectl(t, "delete", "clusterrole/"+labels, "clusterrolebinding/"+labels) })
	var namespace corev1.Namespace
	change := func(write func(client.Object) error, key, value string) error {
		require.NoError(t, w.admin.Get(w.ctx, client.ObjectKey{Name: w.namespace}, &namespace))
		namespace.Annotations[key] = value
		return write(&namespace)
	}
	update := func(c client.Client) func(client.Object) error {
		return func(o client.Object) error { return c.Update(w.ctx, o) }
	}
	status := func(o client.Object) error { return editor.Status().Update(w.ctx, o) }
	const forbidden = "only administrators of namespace"
	controlplane.Eventually(t, func() bool { return change(update(editor), "example.org/other", "yes") == nil }, soon)
	for key, value := range map[string]string{"orcon.tengu.io/approval": "Auto", "orcon.tengu.io/self-approval": "Allow"} {
		require.ErrorContains(t, change(update(editor), key, value), forbidden)
		require.ErrorContains(t, change(status, key, value), forbidden)
	}
	require.ErrorContains(t, change(update(w.admin), "orcon.tengu.io/approval", "digest"), "is unknown: write Auto or Digest")
	boss := w.as("boss-"+w.namespace, "admin")
	controlplane.Eventually(t, func() bool { return change(update(boss), "orcon.tengu.io/approval", "Auto") == nil }, soon)
	w.edit(d, func() { d.Spec.HistoryLimit = 7 })
	w.ready(d, "Healthy")
}

// TRUST.md R2: users who may write nothing but what a deployment reads have its account write what they may not. In a
// namespace that requires approval that waits, and they cannot approve it.
func TestContentIsWrittenByOthers(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	d := w.bundle(configMap("a", "1"))
	require.NoError(t, w.admin.Create(w.ctx, d))
	w.ready(d, "Healthy")
	name := "writer-" + w.namespace
	w.cluster.Kubectl(t, "-n", w.namespace, "create", "role", name, "--verb=get,update", "--resource=configmaps", "--resource-name=content-shop")
	w.cluster.Kubectl(t, "-n", w.namespace, "create", "rolebinding", name, "--role="+name, "--user="+name)
	writer := *w
	writer.admin = w.user(name)
	writes := func(name string) {
		content := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "content-shop"}}
		content.Data = map[string]string{"all.yaml": configMap("a", "1") + configMap(name, "1")}
		controlplane.Eventually(t, func() bool { return writer.admin.Update(w.ctx, content) == nil }, soon, "the API server knows the role")
	}
	writes("b")
	controlplane.Eventually(t, func() bool { return w.configMaps()["b"] != nil }, soon)
	own := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "own"}}
	require.True(t, apierrors.IsForbidden(writer.admin.Create(w.ctx, own)))

	w.cluster.Kubectl(t, "annotate", "namespace", w.namespace, "orcon.tengu.io/approval=Digest")
	writes("c")
	w.ready(d, "WaitingForApproval")
	require.NotContains(t, w.configMaps(), "c")
	require.True(t, apierrors.IsForbidden(writer.approve(d, d.Status.Plan.Digest, name)))
	require.NoError(t, w.approve(d, d.Status.Plan.Digest, "admin"))
	controlplane.Eventually(t, func() bool { return w.configMaps()["c"] != nil }, soon)
}

// as is a user who has a role in the namespace.
func (w *operated) as(user, role string) client.Client {
	w.t.Helper()
	w.cluster.Kubectl(w.t, "-n", w.namespace, "create", "rolebinding", user, "--clusterrole="+role, "--user="+user)
	return w.user(user)
}

// user is a client of a user, with the roles that the user has.
func (w *operated) user(user string) client.Client {
	w.t.Helper()
	cfg := rest.CopyConfig(w.cluster.Config(w.t))
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user}
	c, err := client.New(cfg, client.Options{Scheme: w.admin.Scheme(), Mapper: w.admin.RESTMapper()})
	require.NoError(w.t, err)
	return c
}
