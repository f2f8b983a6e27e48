package installation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// bundleController is the name of the bundle controller's Deployment and account.
const bundleController = "bundle-controller"

// lent checks the accounts that namespaces let the bundle controller act as.
type lent struct{ *checker }

// check checks that the bundle controller may act as the accounts that BundleDeployments name: each namespace
// lets it in by a RoleBinding (TRUST.md R1). Without a bundle controller that the user may see there is nothing to check.
func (c lent) check(ctx context.Context) error {
	const what = "accounts of BundleDeployments"
	var controllers appsv1.DeploymentList
	switch err := c.reader.List(ctx, &controllers, partOfOrcon, client.MatchingLabels{"app.kubernetes.io/name": bundleController}); {
	case apierrors.IsForbidden(err):
		return nil // the check of Deployments reports it
	case err != nil:
		return fmt.Errorf("cannot find the bundle controller: %w", err)
	case len(controllers.Items) == 0:
		return nil
	}
	all := &unstructured.UnstructuredList{}
	all.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("BundleDeploymentList"))
	err := c.reader.List(ctx, all, client.InNamespace(c.namespace))
	switch {
	case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		return nil // the kinds are not installed, which has its own finding
	case apierrors.IsForbidden(err):
		c.skip(what, "you may not list them")
		return nil
	case err != nil:
		return fmt.Errorf("cannot list BundleDeployments: %w", err)
	}
	return c.letIn(ctx, what, controllers.Items[0].Namespace, accountsOf(all.Items))
}

// accountsOf returns the accounts that deployments name, sorted, as namespace:name, each once.
func accountsOf(deployments []unstructured.Unstructured) []string {
	var all []string
	for _, d := range deployments {
		name, _, _ := unstructured.NestedString(d.Object, "spec", "serviceAccountName")
		if name == "" {
			name = "default"
		}
		all = append(all, d.GetNamespace()+":"+name)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// letIn adds a finding for each account as which the bundle controller of a namespace may not act, or one for all.
func (c lent) letIn(ctx context.Context, check, system string, accounts []string) error {
	closed := false
	for _, account := range accounts {
		namespace, name, _ := strings.Cut(account, ":")
		answer, err := c.set.AuthorizationV1().SubjectAccessReviews().Create(ctx, mayAct(system, namespace, name), metav1.CreateOptions{})
		switch {
		case apierrors.IsForbidden(err):
			c.skip(check, "you may not create SubjectAccessReviews")
			return nil
		case err != nil:
			return fmt.Errorf("cannot check %s: %w", check, err)
		case !answer.Status.Allowed:
			closed = true
			c.add(fmt.Sprintf("account %s of BundleDeployments in namespace %s", name, namespace),
				"the namespace does not let the bundle controller act as it: "+c.command(namespace, system+":"+bundleController))
		}
	}
	if !closed {
		c.add(check, "")
	}
	return nil
}

// mayAct asks whether the bundle controller of a namespace may act as an account.
func mayAct(system, namespace, name string) *authorizationv1.SubjectAccessReview {
	return &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:   "system:serviceaccount:" + system + ":" + bundleController,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + system, "system:authenticated"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: "impersonate", Resource: "serviceaccounts", Namespace: namespace, Name: name,
		},
	}}
}
