package object

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// CacheOptions keeps of each object only what the controller reads.
func CacheOptions() cache.Options {
	return cache.Options{
		DefaultTransform: strip,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}: {Transform: stripPod}, &corev1.Node{}: {Transform: stripNode},
		},
	}
}

// strip drops the large parts that are never read here: the managers of fields, the containers that a workload makes,
// and the last applied configuration.
func strip(o any) (any, error) {
	meta, ok := o.(metav1.Object)
	if !ok {
		return o, nil
	}
	meta.SetManagedFields(nil)
	if _, large := meta.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; large {
		kept := maps.Clone(meta.GetAnnotations())
		delete(kept, corev1.LastAppliedConfigAnnotation)
		meta.SetAnnotations(kept)
	}
	switch typed := o.(type) {
	case *v1alpha1.Databag:
		typed.State.Record = nil
	case *appsv1.Deployment:
		typed.Spec.Template.Spec = corev1.PodSpec{}
	case *appsv1.StatefulSet:
		typed.Spec.Template.Spec, typed.Spec.VolumeClaimTemplates = corev1.PodSpec{}, nil
	case *appsv1.DaemonSet:
		typed.Spec.Template.Spec = corev1.PodSpec{}
	case *batchv1.Job:
		typed.Spec.Template.Spec = corev1.PodSpec{}
	case *batchv1.CronJob:
		typed.Spec.JobTemplate.Spec.Template.Spec = corev1.PodSpec{}
	}
	return o, nil
}

// stripNode keeps a node's name, labels and kubelet's version.
func stripNode(o any) (any, error) {
	n, ok := o.(*corev1.Node)
	if !ok {
		return o, nil
	}
	n.Spec, n.Annotations = corev1.NodeSpec{}, nil
	n.Status = corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{KubeletVersion: n.Status.NodeInfo.KubeletVersion}}
	return strip(o)
}

// stripPod keeps a pod's metadata and its phase, and of a pod with an agent its account, its node, its address, and what
// keeps the agent from running.
func stripPod(o any) (any, error) {
	p, ok := o.(*corev1.Pod)
	if !ok {
		return o, nil
	}
	var spec corev1.PodSpec
	status := corev1.PodStatus{Phase: p.Status.Phase, InitContainerStatuses: AgentStatuses(p)}
	if Injected(p) {
		agent := []corev1.Container{{Name: injection.AgentContainer}}
		spec = corev1.PodSpec{ServiceAccountName: p.Spec.ServiceAccountName, NodeName: p.Spec.NodeName, InitContainers: agent}
		status.PodIP = p.Status.PodIP
	}
	p.Spec, p.Status = spec, status
	return strip(o)
}
