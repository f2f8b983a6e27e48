package cluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kube "gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
)

// PodTroubles returns what keeps pods of a namespace from running, of all namespaces for ""; nothing for an
// account that may not list them. Conditions explain the containers that Orcon added.
func PodTroubles(ctx context.Context, c client.Reader, namespace string) map[client.ObjectKey]string {
	troubles, unbegun := map[client.ObjectKey]string{}, map[types.UID]client.ObjectKey{}
	for next := ""; ; {
		var page unstructured.UnstructuredList
		page.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
		if err := c.List(ctx, &page, client.InNamespace(namespace), client.Limit(podsAtOnce), client.Continue(next)); err != nil {
			return nil // what is shown is all that the account may see
		}
		for i := range page.Items {
			addTrouble(troubles, unbegun, page.Items[i].Object)
		}
		if next = page.GetContinue(); next == "" {
			addUnbegun(ctx, c, namespace, unbegun, troubles)
			return troubles
		}
	}
}

// podsAtOnce is how many pods are read at a time.
const podsAtOnce = 500

func addTrouble(troubles map[client.ObjectKey]string, unbegun map[types.UID]client.ObjectKey, object map[string]any) {
	var p corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, &p); err != nil || p.DeletionTimestamp != nil {
		return
	}
	why, log := trouble(&p)
	switch {
	case why == "" && !begun(&p):
		unbegun[p.UID] = client.ObjectKeyFromObject(&p)
	case why != "" && why != kube.AgentTrouble(&p):
		troubles[client.ObjectKeyFromObject(&p)] = log.After(why)
	}
}
