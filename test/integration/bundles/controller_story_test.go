package bundles

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// What fails goes back by itself and is not tried again, until somebody says that what
// made it fail is gone (BUNDLES.md 6).
func TestDeploymentGoesBack(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	d := w.bundle(blue)
	require.NoError(t, w.admin.Create(w.ctx, d))
	w.ready(d, "Healthy")
	w.source("content-shop", green+broken)
	assert.Contains(t, w.ready(d, "Quarantined"), "this content failed before (revision 2: Deployment "+w.namespace+"/web")
	assert.Equal(t, "blue", w.configMaps()["colour"]["colour"])
	assert.EqualValues(t, 3, d.Status.HealthyRevision, "the way back")
	controlplane.Eventually(t, func() bool {
		_, err := w.client.AppsV1().Deployments(w.namespace).Get(w.ctx, "web", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}, soon, "what only the failed one had goes")

	w.edit(d, func() { d.Annotations = map[string]string{v1alpha1.RetryKey: "1"} })
	controlplane.Eventually(t, func() bool {
		require.NoError(t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(d), d))
		return d.Status.HealthyRevision == 5
	}, soon, "it is tried once more, and goes back again")
	w.ready(d, "Quarantined")
	assert.Equal(t, "1", d.Status.LastRetry)
	w.source("content-shop", green)
	w.ready(d, "Healthy")
	assert.Equal(t, "green", w.configMaps()["colour"]["colour"])
}

// claim is a claim whose class nobody here may read.
const claim = "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], storageClassName: none, resources: {requests: {storage: 1Mi}}}\n"

// A newer wish interrupts what is under way (BUNDLES.md 8).
func TestDeploymentIsInterrupted(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	d := w.bundle(claim + strings.ReplaceAll(broken, "progressDeadlineSeconds: 2", "progressDeadlineSeconds: 600"))
	require.NoError(t, w.admin.Create(w.ctx, d))
	w.ready(d, "Progressing")
	controlplane.Eventually(t, func() bool {
		return strings.Contains(w.ready(d, "Progressing"), "1 of 2 objects are healthy; waiting for Deployment "+w.namespace+"/web: ")
	}, soon)
	w.source("other", green)
	w.edit(d, func() { d.Spec.Sources[0].Reference = "configmaps:other" })
	assert.Contains(t, w.ready(d, "Confirm"), "PersistentVolumeClaim "+w.namespace+"/data", "a claim is not deleted without a person (BUNDLES.md 4)")
	require.NoError(t, w.admin.Create(w.ctx, &v1alpha1.Approval{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "yes"},
		Spec:       v1alpha1.ApprovalSpec{Deployment: "shop", PlanDigest: d.Status.Plan.Digest, Author: "admin", ConfirmedObjects: d.Status.Plan.HeldObjects},
	}))
	w.ready(d, "Healthy")
	controlplane.Eventually(t, func() bool {
		_, err := w.client.CoreV1().PersistentVolumeClaims(w.namespace).Get(w.ctx, "data", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}, soon)
	assert.Equal(t, "green", w.configMaps()["colour"]["colour"])
}

// A deployment waits for those that it depends on, and says when nobody will come.
func TestDeploymentDependsOn(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	shop := w.bundle(blue)
	shop.Spec.DependsOn = []string{"base"}
	require.NoError(t, w.admin.Create(w.ctx, shop))
	w.ready(shop, "DependencyMissing")
	w.source("content-base", extra)
	base := &v1alpha1.BundleDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "base"}}
	base.Spec.Paused, base.Spec.Sources = true, []v1alpha1.BundleSource{{Reference: "configmaps:content-base"}}
	require.NoError(t, w.admin.Create(w.ctx, base))
	w.ready(shop, "DependencyNotReady")
	assert.NotContains(t, w.configMaps(), "colour")
	w.edit(base, func() { base.Spec.Paused = false })
	w.ready(shop, "Healthy")
	w.edit(base, func() { base.Spec.DependsOn = []string{"shop"} })
	assert.Contains(t, w.ready(base, "DependencyCycle"), "base → shop → base")
}

// The deletion of what cannot be had back waits for a person, also when all shall go
// (BUNDLES.md 4).
func TestDeploymentDeletionIsHeld(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	d := w.bundle("apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: v-" + w.namespace + "}\nspec: {capacity: {storage: 1Mi}, accessModes: [ReadWriteOnce], hostPath: {path: /none}}\n")
	w.cluster.Kubectl(t, "create", "clusterrolebinding", w.namespace, "--clusterrole=cluster-admin", "--serviceaccount="+w.namespace+":default")
	t.Cleanup(func() { w.cluster.Kubectl(t, "delete", "clusterrolebinding", w.namespace) })
	require.NoError(t, w.admin.Create(w.ctx, d))
	w.ready(d, "Healthy")
	l := newCommandLine(t, w.cluster)
	code, out := l.run("uninstall shop --yes -n " + w.namespace)
	assert.Equal(t, 2, code)
	assert.Contains(t, out, "BundleDeployment shop manages it")
	require.NoError(t, w.admin.Delete(w.ctx, d))
	assert.Contains(t, w.ready(d, "Confirm"), "orcon approve shop -n "+w.namespace)
	require.Equal(t, []string{"PersistentVolume/v-" + w.namespace}, d.Status.Plan.HeldObjects)
	code, out = l.run("approve shop --yes -n " + w.namespace + " --confirm PersistentVolume/v-" + w.namespace)
	assert.Zero(t, code, out)
	controlplane.Eventually(t, func() bool { return apierrors.IsNotFound(w.admin.Get(w.ctx, client.ObjectKeyFromObject(d), d)) }, soon)
}

// Where four eyes are asked for, who asks for a change does not approve it, and nobody asks
// or approves for somebody else (BUNDLES.md, Also).
func TestDeploymentFourEyes(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	d := w.bundle(blue)
	d.Spec.Approval = v1alpha1.BundleApproval{Mode: "Digest", SelfApproval: v1alpha1.SelfApprovalForbid}
	require.ErrorContains(t, w.admin.Create(w.ctx, d), "annotation orcon.tengu.io/requester must say who asks for it, and you are admin")
	d.Annotations = map[string]string{v1alpha1.RequesterKey: "admin"}
	require.NoError(t, w.admin.Create(w.ctx, d))
	w.ready(d, "WaitingForApproval")
	require.NoError(t, w.approve(d, d.Status.Plan.Digest, "admin"))
	controlplane.Eventually(t, func() bool {
		return strings.Contains(w.ready(d, "WaitingForApproval"), `the Approval by "admin" must come from another person`)
	}, soon)
	assert.NotContains(t, w.configMaps(), "colour")

	bob := *w
	cfg := rest.CopyConfig(w.cluster.Config(t))
	cfg.Impersonate = rest.ImpersonationConfig{UserName: "bob"}
	_, err := w.client.RbacV1().RoleBindings(w.namespace).Create(w.ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "approver"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "orcon-bundle-approve"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "bob"}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	bob.admin, err = client.New(cfg, client.Options{Scheme: w.admin.Scheme(), Mapper: w.admin.RESTMapper()})
	require.NoError(t, err)
	controlplane.Eventually(t, func() bool {
		err = bob.approve(d, d.Status.Plan.Digest, "bob")
		return !apierrors.IsForbidden(err)
	}, soon, "the API server knows the RoleBinding")
	require.NoError(t, err)
	w.ready(d, "Healthy")
}

// Another account approves after an administrator has pasted the commands that it got, also the
// deletion, which it may not carry out itself (BUNDLES.md 9).
func TestDeploymentApprovedByAnother(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	d := w.bundle(blue)
	d.Spec.Approval, d.Spec.Prune.ConfirmKinds = v1alpha1.BundleApproval{Mode: "Digest"}, []string{"ConfigMap"}
	require.NoError(t, w.admin.Create(w.ctx, d))
	w.ready(d, "WaitingForApproval")
	approver := w.viewer()
	approve := "approve shop --yes -n " + w.namespace
	code, out := approver.run(approve)
	assert.Equal(t, 2, code)
	w.obey(out)
	approver.must(approve)
	w.ready(d, "Healthy")
	require.NoError(t, w.admin.Delete(w.ctx, d))
	w.ready(d, "Confirm")
	for _, held := range d.Status.Plan.HeldObjects {
		approve += " --confirm " + held
	}
	approver.must(approve)
	controlplane.Eventually(t, func() bool { return apierrors.IsNotFound(w.admin.Get(w.ctx, client.ObjectKeyFromObject(d), d)) }, soon)
}

// Who changes what is stored does not change what was planned (BUNDLES.md, Also).
func TestDeploymentForged(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	d := w.bundle(blue)
	require.NoError(t, w.admin.Create(w.ctx, d))
	w.ready(d, "Healthy")
	secrets := w.client.CoreV1().Secrets(w.namespace)
	record, err := secrets.Get(w.ctx, "orcon-bundle-shop", metav1.GetOptions{})
	require.NoError(t, err)
	var revision v1alpha1.BundleRevision
	require.NoError(t, w.admin.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: "shop-1"}, &revision))
	require.Len(t, revision.Spec.Contents, 1)
	record.Data["data"] = []byte(strings.Replace(string(record.Data["data"]), revision.Spec.Contents[0], "orcon-bundle-shop-other", 1))
	_, err = secrets.Update(w.ctx, record, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Contains(t, w.ready(d, "RecordForged"), "the stored revision 1 differs from BundleRevision shop-1")
	require.NoError(t, secrets.Delete(w.ctx, "orcon-bundle-shop", metav1.DeleteOptions{}))
	w.ready(d, "Healthy")
	assert.EqualValues(t, 1, d.Status.HealthyRevision, "deployed anew")
}
