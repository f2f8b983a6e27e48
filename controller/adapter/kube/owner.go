package kube

import (
	"cmp"
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// Owners finds the topmost known controller of a pod (SAFETY.md A1).
type Owners struct{ Reader client.Reader }

// ReplicaSet returns an empty ReplicaSet of which only metadata is cached.
func ReplicaSet() *metav1.PartialObjectMetadata {
	var rs metav1.PartialObjectMetadata
	rs.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"})
	return &rs
}

// Of returns the kind and name of the controller: a ReplicaSet's Deployment, a
// Job's CronJob, else the pod's own controller; a bare pod is its own. known is
// false while the informers do not show a controller between: to guess would
// make an application of a ReplicaSet.
func (o Owners) Of(ctx context.Context, p *corev1.Pod) (kind application.WorkloadKind, name string, known bool) {
	ref := metav1.GetControllerOf(p)
	if ref == nil {
		return application.BarePod, p.Name, true
	}
	var between client.Object
	switch ref.Kind {
	case "ReplicaSet":
		between = ReplicaSet()
	case "Job":
		between = &batchv1.Job{}
	default:
		return application.WorkloadKind(ref.Kind), ref.Name, true
	}
	if err := o.Reader.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: ref.Name}, between); err != nil {
		return "", "", false
	}
	if top := metav1.GetControllerOf(between); top != nil {
		return application.WorkloadKind(top.Kind), top.Name, true
	}
	return application.WorkloadKind(ref.Kind), ref.Name, true
}

// Application returns the name of the application that the pod is a unit of.
func (o Owners) Application(ctx context.Context, p *corev1.Pod) (name string, known bool) {
	_, name, known = o.Of(ctx, p)
	return cmp.Or(p.Annotations[application.KeyApplication], name), known
}
