package installation

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// InstallBundles is the command that installs the bundle controller.
const InstallBundles = "orcon install builtin:bundle-controller --name orcon-bundles -n orcon-system"

// addOn is a controller that is installed apart from Orcon's other parts, which bring its kinds.
type addOn struct {
	// name is the value of label app.kubernetes.io/name of its Deployment.
	name string
	// title names it in findings.
	title string
	// kind is the kind that it acts on.
	kind string
	// without says what does not happen to objects of the kind without it.
	without string
	// install is the command that installs it.
	install string
}

// addOns are the controllers that are installed apart.
var addOns = []addOn{ //nolint:gochecknoglobals // a constant
	{bundleController, "the bundle controller", "BundleDeployment", "which nothing deploys or deletes", InstallBundles},
	{
		"job-controller", "the job controller", "JobWorkspace", "whose runs nothing starts or ends",
		"orcon install builtin:job-controller --name orcon-jobs -n orcon-system",
	},
}

// runsAs reports whether a Deployment is that of the controller.
func (a addOn) runsAs(d *appsv1.Deployment) bool { return d.Labels["app.kubernetes.io/name"] == a.name }

// isAddOn reports whether a Deployment serves no relations.
func isAddOn(d *appsv1.Deployment) bool {
	return slices.ContainsFunc(addOns, func(a addOn) bool { return a.runsAs(d) })
}

// absent looks for add-ons that are not installed.
type absent struct{ *checker }

// check adds a finding for each add-on without a Deployment whose kind has objects. It is silent where the user may not
// list these: the roles of viewers come with the controller.
func (c absent) check(ctx context.Context, deployments []appsv1.Deployment) error {
	for _, a := range addOns {
		if slices.ContainsFunc(deployments, func(d appsv1.Deployment) bool { return a.runsAs(&d) }) {
			continue
		}
		kind := metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: a.kind + "List"}
		list := metav1.PartialObjectMetadataList{TypeMeta: kind}
		err := c.reader.List(ctx, &list, client.InNamespace(c.namespace), client.Limit(1))
		switch {
		case apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		case err != nil:
			return fmt.Errorf("cannot list objects of kind %s: %w", a.kind, err)
		case len(list.Items) > 0:
			c.add("Deployment of "+a.title, fmt.Sprintf("not installed, although %s %s/%s is there, %s: %s",
				a.kind, list.Items[0].Namespace, list.Items[0].Name, a.without, a.install))
		}
	}
	return nil
}
