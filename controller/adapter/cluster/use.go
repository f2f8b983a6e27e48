package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// used returns the objects of others that need an object: those of the kind that a definition defines,
// and the BundleDeployments that the bundle controller ends.
func (w *World) used(ctx context.Context, o *unstructured.Unstructured) ([]bundle.Use, error) {
	var uses []bundle.Use
	var err error
	others := others{w.client, w.owner}
	switch {
	case o.GetKind() == definitionKind && isRefused(o):
	case o.GetKind() == definitionKind:
		uses, err = others.instances(ctx, bundle.Object(o.Object))
	case isBundleController(o):
		uses, err = others.ended(ctx, o)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot find out whether %s is in use: %w", o.GetName(), err)
	}
	return uses, nil
}

// isRefused reports whether the cluster has not accepted a definition, as where another has its names: it has no objects, and
// those of its kind are the other's.
func isRefused(definition *unstructured.Unstructured) bool {
	return slices.ContainsFunc(conditions(definition), func(c bundle.Object) bool {
		return c.Text("type") == "Established" && c.Text("status") == "False"
	})
}

// others reads the objects that are not those of one deployment.
type others struct {
	client client.Client
	owner  string
}

// errUnserved is the error of a definition whose objects no request can list.
var errUnserved = errors.New("it serves no version, so that its objects, which would be lost with it, cannot be listed: set " +
	"spec.versions[].served: true for one")

// instances returns the objects of the kind that a definition defines: they go with it.
func (o others) instances(ctx context.Context, crd bundle.Object) ([]bundle.Use, error) {
	kind := schema.GroupVersionKind{Group: crd.Text("spec", "group"), Kind: crd.Text("spec", "names", "kind"), Version: served(crd)}
	if kind.Version == "" {
		return nil, errUnserved
	}
	all, err := o.list(ctx, kind)
	var uses []bundle.Use
	for _, m := range all {
		name := bundle.ID{Group: kind.Group, Kind: kind.Kind, Namespace: m.Namespace, Name: m.Name}.String()
		uses = append(uses, bundle.Use{Name: name, Owned: len(m.OwnerReferences) > 0})
	}
	return uses, err
}

// isBundleController reports whether an object is the Deployment of the bundle controller.
func isBundleController(o *unstructured.Unstructured) bool {
	labels := o.GetLabels()
	return o.GetKind() == "Deployment" && labels["app.kubernetes.io/part-of"] == "orcon" &&
		labels["app.kubernetes.io/name"] == "bundle-controller"
}

// ended returns the BundleDeployments of the cluster: each has a finalizer that only the bundle
// controller removes. A controller that does not run is started first.
func (o others) ended(ctx context.Context, controller *unstructured.Unstructured) ([]bundle.Use, error) {
	mapping, err := o.client.RESTMapper().RESTMapping(schema.GroupKind{Group: "orcon.tengu.io", Kind: "BundleDeployment"})
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // used does
	}
	all, err := o.list(ctx, mapping.GroupVersionKind)
	var uses []bundle.Use
	first := ""
	if ready, _, _ := unstructured.NestedInt64(controller.Object, "status", "readyReplicas"); ready == 0 {
		first = fmt.Sprintf("kubectl -n %s scale deployment %s --replicas=2\n", controller.GetNamespace(), controller.GetName())
	}
	for _, m := range all {
		uses = append(uses, bundle.Use{
			Name:   fmt.Sprintf("%s %s/%s", mapping.GroupVersionKind.Kind, m.Namespace, m.Name),
			Delete: first + fmt.Sprintf("kubectl delete %s %s -n %s", mapping.Resource.Resource, m.Name, m.Namespace),
		})
		first = ""
	}
	return uses, err
}

// list returns the objects of a kind.
func (o others) list(ctx context.Context, kind schema.GroupVersionKind) ([]metav1.PartialObjectMetadata, error) {
	var all metav1.PartialObjectMetadataList
	all.SetGroupVersionKind(kind)
	if err := o.client.List(ctx, &all); client.IgnoreNotFound(err) != nil {
		return nil, err //nolint:wrapcheck // used does
	}
	return slices.DeleteFunc(all.Items, func(m metav1.PartialObjectMetadata) bool { return m.Annotations[bundle.OwnerKey] == o.owner }), nil
}

// served is a version in which the objects of a definition can be read.
func served(crd bundle.Object) string {
	versions, _ := crd.At("spec", "versions").([]any)
	for _, v := range versions {
		if fields, _ := v.(map[string]any); fields["served"] == true {
			return bundle.Object(fields).Text("name")
		}
	}
	return ""
}
