package cluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// tailTime is how long reading the end of a log may take, and tailBytes how long it may be.
const (
	tailTime  = 5 * time.Second
	tailBytes = 1 << 16
)

// Tail returns the last lines of a log, at most so many.
func Tail(ctx context.Context, config *rest.Config, l bundle.Log, lines int64) (string, error) {
	pods, err := corev1client.NewForConfig(config)
	if err != nil {
		return "", fmt.Errorf("cannot reach the cluster: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, tailTime)
	defer cancel()
	most := int64(tailBytes)
	options := &corev1.PodLogOptions{Container: l.Container, TailLines: &lines, LimitBytes: &most}
	text, err := pods.Pods(l.Namespace).GetLogs(l.Pod, options).DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("cannot read the log of container %s of pod %s/%s: %w", l.Container, l.Namespace, l.Pod, err)
	}
	return string(text), nil
}
