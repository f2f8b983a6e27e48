package kubetest

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
)

// Controlled gives an object a controller.
func Controlled(o metav1.Object, kind, name string) {
	yes := true
	o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: kind, Name: name, UID: types.UID("uid-" + name), Controller: &yes}})
}

// PodOf returns a pod of a controller; with kind "" it has none.
func PodOf(kind, owner string) *corev1.Pod {
	p := object.Named(&corev1.Pod{}, "shop", "pod-1")
	p.UID, p.Spec.ServiceAccountName = "uid-1", "default"
	if kind != "" {
		Controlled(p, kind, owner)
	}
	return p
}
