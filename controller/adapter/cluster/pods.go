package cluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
)

// PodTroubles returns what keeps pods of a namespace from running, of all namespaces for ""; nothing for an
// account that may not list them. Conditions explain the containers that Orcon added.
func PodTroubles(ctx context.Context, c client.Reader, namespace string) map[client.ObjectKey]string {
	var all unstructured.UnstructuredList
	all.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	if err := c.List(ctx, &all, client.InNamespace(namespace)); err != nil {
		return nil // what is shown is all that the account may see
	}
	troubles := map[client.ObjectKey]string{}
	for i := range all.Items {
		var p corev1.Pod
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(all.Items[i].Object, &p); err != nil {
			continue
		}
		if why, log := trouble(&p); why != "" && p.DeletionTimestamp == nil && object.AgentTrouble(&p) == "" {
			troubles[client.ObjectKeyFromObject(&p)] = log.After(why)
		}
	}
	return troubles
}
