package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Tail returns the last lines of a log, at most so many.
func Tail(ctx context.Context, config *rest.Config, l bundle.Log, lines int64) (string, error) {
	pods, err := corev1client.NewForConfig(config)
	if err != nil {
		return "", fmt.Errorf("cannot reach the cluster: %w", err)
	}
	text, err := pods.Pods(l.Namespace).GetLogs(l.Pod, &corev1.PodLogOptions{Container: l.Container, TailLines: &lines}).DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("cannot read the log of container %s of pod %s/%s: %w", l.Container, l.Namespace, l.Pod, err)
	}
	return string(text), nil
}
