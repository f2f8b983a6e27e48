package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// WorkloadTroubles returns what keeps workloads of a namespace from having pods, such as a quota or a webhook that
// refuses them, by namespace and kind/name; of all namespaces for "". It has nothing for an account that may not read
// Events or the workloads.
func WorkloadTroubles(ctx context.Context, c client.Reader, namespace string) map[client.ObjectKey]string {
	const reason = "FailedCreate"
	newest := map[types.UID]corev1.Event{}
	for _, e := range warnings(ctx, c, namespace, client.MatchingFields{"reason": reason}) {
		if e.Reason == reason {
			keepNewest(newest, e)
		}
	}
	troubles := map[client.ObjectKey]string{}
	for _, e := range newest {
		about := e.InvolvedObject
		var o unstructured.Unstructured
		o.SetGroupVersionKind(about.GroupVersionKind())
		if c.Get(ctx, client.ObjectKey{Namespace: about.Namespace, Name: about.Name}, &o) != nil || o.GetUID() != about.UID || !lacksPods(&o) {
			continue // it is gone, or that is past
		}
		kind, name := about.Kind, about.Name
		if owner := metav1.GetControllerOf(&o); owner != nil {
			kind, name = owner.Kind, owner.Name
		}
		why := strings.TrimPrefix(strings.TrimPrefix(oneLine(e.Message), "(combined from similar events): "), "Error creating: ")
		owner := client.ObjectKey{Namespace: about.Namespace, Name: kind + "/" + name}
		troubles[owner] = fmt.Sprintf("%s %s cannot create pods: %s", about.Kind, about.Name, why)
	}
	return troubles
}

// lacksPods reports whether an object that makes pods has fewer than it should have.
func lacksPods(o *unstructured.Unstructured) bool {
	number := func(path ...string) int64 {
		n, _, _ := unstructured.NestedInt64(o.Object, path...)
		return n
	}
	switch o.GetKind() {
	case "ReplicaSet", "StatefulSet":
		return number("status", "replicas") < number("spec", "replicas")
	case "DaemonSet":
		return number("status", "currentNumberScheduled") < number("status", "desiredNumberScheduled")
	case "Job":
		return number("status", "active") == 0 && !hasCondition(o, "Complete") && !hasCondition(o, "Failed")
	default:
		return false
	}
}

// hasCondition reports whether a condition of an object is true.
func hasCondition(o *unstructured.Unstructured, named string) bool {
	return slices.ContainsFunc(conditions(o), func(c bundle.Object) bool { return c.Text("type") == named && c.Text("status") == "True" })
}

// begun reports whether the containers of a pod may start: it has a sandbox and its volumes, or still needs a node.
func begun(p *corev1.Pod) bool {
	return p.Status.Phase != corev1.PodPending || !slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReadyToStartContainers && c.Status == corev1.ConditionFalse
	})
}

func keepNewest(newest map[types.UID]corev1.Event, e corev1.Event) {
	uid := e.InvolvedObject.UID
	if was, seen := newest[uid]; !seen || was.LastTimestamp.Before(&e.LastTimestamp) {
		newest[uid] = e
	}
}

// warnings returns the warnings of a namespace that have these fields, of all namespaces for ""; what was read so far
// where the account may not read them.
func warnings(ctx context.Context, c client.Reader, namespace string, fields client.MatchingFields) []corev1.Event {
	fields["type"] = corev1.EventTypeWarning
	var all []corev1.Event
	_ = walk(ctx, c, corev1.SchemeGroupVersion.WithKind("Event"), func(object map[string]any) { // the account may list no more
		var e corev1.Event
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, &e); err == nil {
			e.InvolvedObject.Namespace = e.Namespace
			all = append(all, e)
		}
	}, client.InNamespace(namespace), fields)
	return all
}
