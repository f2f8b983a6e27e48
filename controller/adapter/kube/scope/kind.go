package scope

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// bounded returns an empty object of each kind that any namespace has: the caches keep those of participating namespaces.
func bounded() []client.Object {
	return []client.Object{
		&corev1.Pod{}, &corev1.Service{}, &networkingv1.NetworkPolicy{}, object.ReplicaSet(),
		&appsv1.Deployment{}, &appsv1.StatefulSet{}, &appsv1.DaemonSet{}, &batchv1.Job{}, &batchv1.CronJob{},
	}
}

// holding returns an empty object of each kind that makes its namespace participate.
func holding() []client.Object {
	return []client.Object{
		&v1alpha1.Relation{}, &v1alpha1.RelationSide{}, &v1alpha1.RelatedApplication{}, &v1alpha1.Offer{}, &v1alpha1.Databag{},
		&v1alpha1.RelatedSecret{},
	}
}

// kindOf returns a name that tells the kinds in caches apart. It is the same for a list of the kind.
func kindOf(o runtime.Object) string {
	name := strings.TrimSuffix(fmt.Sprintf("%T", o), "List")
	switch o.(type) {
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList: // all kinds have these types
		name += " of " + strings.TrimSuffix(o.GetObjectKind().GroupVersionKind().Kind, "List")
	}
	return name
}
