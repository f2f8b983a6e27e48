package installation

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// Outside returns why Orcon never acts in a namespace, even if it opts in: the namespace is one of the
// cluster's own, or Orcon itself runs in it. It returns "" for every other namespace. If the user may
// not list the Deployments of the namespace, only its label tells that it is Orcon's.
func Outside(ctx context.Context, reader client.Reader, namespace client.Object) string {
	if injection.SystemNamespace(namespace.GetName()) {
		return "it is one of the cluster's own, so that Orcon never acts there: use another namespace"
	}
	const own = "Orcon itself runs in it, so that it never acts there: use another namespace"
	if namespace.GetLabels()["app.kubernetes.io/part-of"] == "orcon" {
		return own
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("DeploymentList"))
	err := reader.List(ctx, list, partOfOrcon, client.InNamespace(namespace.GetName()), client.Limit(1))
	if err == nil && len(list.Items) > 0 {
		return own
	}
	return ""
}
