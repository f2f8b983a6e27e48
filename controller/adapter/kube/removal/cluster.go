package removal

import (
	"context"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bundlev1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	fleetv1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	jobv1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// Cluster is the cluster that Orcon is taken out of.
type Cluster struct {
	client client.Client
	// report receives what was done, a line each.
	report func(string)
}

// New returns a cluster. report receives what is done to it, a line each.
func New(cfg *rest.Config, report func(string)) (Cluster, error) {
	scheme := runtime.NewScheme()
	err := errors.Join(clientscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme), bundlev1alpha1.AddToScheme(scheme),
		fleetv1alpha1.AddToScheme(scheme), jobv1alpha1.AddToScheme(scheme))
	c, failed := client.New(cfg, client.Options{Scheme: scheme})
	if err := errors.Join(err, failed); err != nil {
		return Cluster{}, fmt.Errorf("cannot reach the cluster: %w", err)
	}
	return Cluster{c, report}, nil
}

// list lists objects; of a kind that the cluster does not have there are none.
func (c Cluster) list(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	err := c.client.List(ctx, into, options...)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot list %s: %w", c.plural(into), err)
	}
	return nil
}

// plural names the kind of a list.
func (c Cluster) plural(list client.ObjectList) string {
	kind, err := c.client.GroupVersionKindFor(list)
	if err != nil {
		return fmt.Sprintf("%T", list)
	}
	return strings.TrimSuffix(kind.Kind, "List") + "s"
}

// Census reads the relations of all namespaces.
func (c Cluster) Census(ctx context.Context) (relation.Census, error) {
	var relations v1alpha1.RelationList
	var sides v1alpha1.RelationSideList
	var applications v1alpha1.RelatedApplicationList
	census := relation.Census{Units: map[relation.End][]application.Unit{}}
	if err := errors.Join(c.list(ctx, &relations), c.list(ctx, &sides), c.list(ctx, &applications)); err != nil {
		return census, err
	}
	var unreadable []error
	for i := range relations.Items {
		r, err := convert.ToRelation(&relations.Items[i])
		census.Relations, unreadable = append(census.Relations, r), append(unreadable, curable(err, &relations.Items[i], "relations", ""))
	}
	for i := range sides.Items {
		s, err := convert.ToRelationSide(&sides.Items[i])
		err = curable(err, &sides.Items[i], "relationsides", ", which gives up an end that it owes to handlers")
		census.Sides, unreadable = append(census.Sides, s), append(unreadable, err)
	}
	for i := range applications.Items {
		a := &applications.Items[i]
		record, err := convert.ToRecord(a)
		census.Units[relation.End{Namespace: a.Namespace, Application: a.Name}] = record.State.Units
		unreadable = append(unreadable, curable(err, a, "relatedapplications", ", which numbers its units anew"))
	}
	return census, errors.Join(unreadable...)
}

// curable adds to the error of an object that cannot be read what helps, and what that costs.
func curable(err error, o client.Object, plural, cost string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: kubectl -n %s get %s.%s %s -o yaml shows it; correct it, or delete it%s", err, o.GetNamespace(), plural,
		v1alpha1.GroupVersion.Group, o.GetName(), cost)
}

// Bundles lists the BundleDeployments of all namespaces, as namespace/name.
func (c Cluster) Bundles(ctx context.Context) ([]string, error) {
	return c.names(ctx, &bundlev1alpha1.BundleDeploymentList{})
}

// Sets lists the IntegrationSets of all namespaces, as namespace/name.
func (c Cluster) Sets(ctx context.Context) ([]string, error) {
	return c.names(ctx, &fleetv1alpha1.IntegrationSetList{})
}

// Workspaces lists the JobWorkspaces of all namespaces, as namespace/name.
func (c Cluster) Workspaces(ctx context.Context) ([]string, error) {
	return c.names(ctx, &jobv1alpha1.JobWorkspaceList{})
}

// names lists the objects of a kind in all namespaces, as namespace/name.
func (c Cluster) names(ctx context.Context, list client.ObjectList) ([]string, error) {
	if err := c.list(ctx, list); err != nil {
		return nil, err
	}
	var names []string
	err := meta.EachListItem(list, func(item runtime.Object) error {
		o, err := meta.Accessor(item)
		if err == nil {
			names = append(names, o.GetNamespace()+"/"+o.GetName())
		}
		return err
	})
	return names, err
}

// The names of controllers, as their label app.kubernetes.io/name has them.
const (
	RelationsController = "relations-controller"
	BundleController    = "bundle-controller"
	JobController       = "job-controller"
)

// Runs reports whether a ready pod of a controller is there.
func (c Cluster) Runs(ctx context.Context, name string) (bool, error) {
	var list appsv1.DeploymentList
	err := c.list(ctx, &list, client.MatchingLabels{nameLabel: name, partOf: orcon})
	for _, d := range list.Items {
		if d.Status.ReadyReplicas > 0 {
			return true, nil
		}
	}
	return false, err
}
