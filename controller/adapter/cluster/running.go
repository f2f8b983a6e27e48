package cluster

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Running returns the images of a namespace's workloads whose containers have a value of an environment variable, by kind
// and name. Workloads without replicas are left out.
func Running(ctx context.Context, reader client.Reader, namespace, variable, value string) (map[string]string, error) {
	var deployments appsv1.DeploymentList
	if err := reader.List(ctx, &deployments, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("cannot list Deployments of namespace %s: %w", namespace, err)
	}
	var sets appsv1.StatefulSetList
	if err := reader.List(ctx, &sets, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("cannot list StatefulSets of namespace %s: %w", namespace, err)
	}
	running := map[string]string{}
	add := func(workload string, replicas *int32, pod corev1.PodSpec) {
		if image := imageWith(pod, corev1.EnvVar{Name: variable, Value: value}); image != "" && (replicas == nil || *replicas > 0) {
			running[workload] = image
		}
	}
	for _, d := range deployments.Items {
		add("Deployment "+d.Name, d.Spec.Replicas, d.Spec.Template.Spec)
	}
	for _, s := range sets.Items {
		add("StatefulSet "+s.Name, s.Spec.Replicas, s.Spec.Template.Spec)
	}
	return running, nil
}

// imageWith returns the image of the first container with an environment variable; "" for none.
func imageWith(pod corev1.PodSpec, variable corev1.EnvVar) string {
	for _, c := range pod.Containers {
		for _, e := range c.Env {
			if e.Name == variable.Name && e.Value == variable.Value {
				return c.Image
			}
		}
	}
	return ""
}
