package bundles

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// The controller acts as accounts of namespaces that let it, and as no other of the cluster (TRUST.md R1).
func TestControllerActsWhereItIsLetIn(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	closed := w.cluster.NewNamespace(t, "bundle-")
	secrets := func(namespace, account string) error {
		config := rest.CopyConfig(w.config)
		config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + account}
		c, err := kubernetes.NewForConfig(config)
		require.NoError(t, err)
		_, err = c.CoreV1().Secrets(namespace).List(w.ctx, metav1.ListOptions{})
		return err
	}
	controlplane.Eventually(t, func() bool { return secrets(w.namespace, w.namespace+":default") == nil }, soon, "its own namespace")
	for why, account := range map[string]string{
		"an account of the cluster": "kube-system:clusterrole-aggregation-controller", "a namespace that is closed": closed + ":default",
		"another account of Orcon": "orcon-system:relations-controller",
	} {
		err := secrets(w.namespace, account)
		require.True(t, apierrors.IsForbidden(err), why)
		assert.ErrorContains(t, err, "cannot impersonate resource \"serviceaccounts\"", why)
	}
}

// A deployment whose namespace does not let the controller in names the RoleBinding that is missing, and goes on once
// it is there. A namespace may let it act as some of its accounts only (TRUST.md R1).
func TestDeploymentNeedsItsNamespacesConsent(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	bindings := w.client.RbacV1().RoleBindings(w.namespace)
	d := w.bundle(configMap("a", "1"))
	require.NoError(t, w.admin.Create(w.ctx, d))
	w.ready(d, "Healthy")

	require.NoError(t, bindings.Delete(w.ctx, bundle.AccountRole, metav1.DeleteOptions{}))
	says := w.ready(d, "AccountForbidden")
	assert.Contains(t, says, "namespace "+w.namespace+" has no RoleBinding to ClusterRole orcon-bundle-account for it: "+
		bundle.LetIn(w.namespace, "orcon-system:bundle-controller"))
	assert.Contains(t, w.configMaps(), "a", "what is installed stays")
	assert.EqualValues(t, 1, d.Status.ActiveRevision)

	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "one"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{"default"}, Verbs: []string{"impersonate"}},
	}}
	require.NoError(t, w.admin.Create(w.ctx, role))
	require.NoError(t, w.admin.Create(w.ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "one"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "one"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "orcon-system", Name: "bundle-controller"}},
	}))
	w.edit(d, func() { d.Spec.ServiceAccountName = "other" })
	assert.Contains(t, w.ready(d, "AccountForbidden"), "may not act as ServiceAccount other")
	w.edit(d, func() { d.Spec.ServiceAccountName = "" })
	w.ready(d, "Healthy")
	require.NoError(t, w.admin.Delete(w.ctx, d))
	controlplane.Eventually(t, func() bool { return apierrors.IsNotFound(w.admin.Get(w.ctx, client.ObjectKeyFromObject(d), d)) }, soon)
	assert.NotContains(t, w.configMaps(), "a")
}
