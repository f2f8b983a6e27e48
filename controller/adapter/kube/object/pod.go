package object

import (
	corev1 "k8s.io/api/core/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// Finished reports whether the containers of a pod have ended for good.
func Finished(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// Injected reports whether the pod has an agent.
func Injected(p *corev1.Pod) bool {
	for i := range p.Spec.InitContainers {
		if p.Spec.InitContainers[i].Name == injection.AgentContainer {
			return true
		}
	}
	return false
}
