package controlplane

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Bind gives a subject a ClusterRole in a namespace by a RoleBinding of the role's name, and waits until it is granted.
func (c *Cluster) Bind(t testing.TB, namespace, role string, subject rbacv1.Subject) {
	t.Helper()
	_, err := c.Client(t).RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{subject},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	c.Granted(t, namespace, role)
}

// Granted waits until the API server grants the last right of a RoleBinding's role to its first subject. The server's
// authorizer has its roles and bindings from a cache, which lags behind what is stored.
func (c *Cluster) Granted(t testing.TB, namespace, binding string) {
	t.Helper()
	client := c.Client(t)
	stored, err := client.RbacV1().RoleBindings(namespace).Get(t.Context(), binding, metav1.GetOptions{})
	require.NoError(t, err)
	review := lastRight(t, client, stored)
	Eventually(t, func() bool {
		answer, err := client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
		return err == nil && answer.Status.Allowed
	}, time.Minute, "RoleBinding "+namespace+"/"+binding+" grants nothing")
}

// lastRight asks whether the first subject of a binding has the last right of its role.
func lastRight(t testing.TB, client kubernetes.Interface, b *rbacv1.RoleBinding) *authorizationv1.SubjectAccessReview {
	t.Helper()
	rules := rulesOf(t, client, b)
	rule := rules[len(rules)-1]
	resource, subresource, _ := strings.Cut(last(rule.Resources), "/")
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: b.Subjects[0].Name,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: b.Namespace, Verb: last(rule.Verbs), Group: last(rule.APIGroups),
			Resource: resource, Subresource: subresource, Name: last(rule.ResourceNames),
		},
	}}
	if account := b.Subjects[0]; account.Kind == rbacv1.ServiceAccountKind {
		review.Spec.User = "system:serviceaccount:" + account.Namespace + ":" + account.Name
	}
	return review
}

// rulesOf returns the rules of a binding's role.
func rulesOf(t testing.TB, client kubernetes.Interface, b *rbacv1.RoleBinding) []rbacv1.PolicyRule {
	t.Helper()
	if b.RoleRef.Kind == "Role" {
		role, err := client.RbacV1().Roles(b.Namespace).Get(t.Context(), b.RoleRef.Name, metav1.GetOptions{})
		require.NoError(t, err)
		return role.Rules
	}
	role, err := client.RbacV1().ClusterRoles().Get(t.Context(), b.RoleRef.Name, metav1.GetOptions{})
	require.NoError(t, err)
	return role.Rules
}

// last returns the last of some words, or none.
func last(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[len(words)-1]
}
