package object

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

// ReplicaSet returns an empty ReplicaSet that is cached with its metadata only.
func ReplicaSet() *metav1.PartialObjectMetadata {
	var rs metav1.PartialObjectMetadata
	rs.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"})
	return &rs
}

// Owner is the topmost known controller of a pod.
type Owner struct {
	Kind application.WorkloadKind
	Name string
	// Application is the name of the application that the pod is a unit of.
	Application string
}

// Source returns the owner as a RelatedApplication lists it.
func (o Owner) Source() string { return string(o.Kind) + "/" + o.Name }

// Of returns a ReplicaSet's Deployment, a Job's CronJob, else the pod's own
// controller; a bare pod owns itself. known is false while the informers do not
// show a controller between: to guess would make an application of a ReplicaSet.
func (o Owners) Of(ctx context.Context, p *corev1.Pod) (owner Owner, known bool) {
	kind, name, known := o.top(ctx, p)
	return Owner{Kind: kind, Name: name, Application: cmp.Or(p.Annotations[application.KeyApplication], name)}, known
}

func (o Owners) top(ctx context.Context, p *corev1.Pod) (kind application.WorkloadKind, name string, known bool) {
	ref := metav1.GetControllerOfNoCopy(p)
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
	if err := o.Reader.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: ref.Name}, between, client.UnsafeDisableDeepCopy); err != nil {
		return "", "", false
	}
	if top := metav1.GetControllerOfNoCopy(between); top != nil {
		return application.WorkloadKind(top.Kind), top.Name, true
	}
	return application.WorkloadKind(ref.Kind), ref.Name, true
}
