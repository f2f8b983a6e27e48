package object

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// ContainerTrouble returns what keeps a container from running, in words that stay the same while
// the kubelet retries; empty if nothing does but time.
func ContainerTrouble(c corev1.ContainerStatus) string {
	end := cmp.Or(c.State.Terminated, c.LastTerminationState.Terminated)
	waiting := c.State.Waiting
	switch {
	case waiting != nil && waiting.Reason == "ContainerCreating", waiting != nil && waiting.Reason == "PodInitializing":
		return ""
	case waiting != nil && waiting.Reason == "CrashLoopBackOff" && end != nil, waiting == nil && end != nil && end.ExitCode != 0 && !c.Ready:
		return strings.TrimSuffix(fmt.Sprintf("exited with code %d (%s): %s", end.ExitCode, end.Reason, strings.TrimSpace(end.Message)), ": ")
	case waiting != nil && (waiting.Reason == "ErrImagePull" || waiting.Reason == "ImagePullBackOff"):
		// The two take turns, and the message of the one quotes that of the other.
		_, why, found := strings.Cut(waiting.Message, "ErrImagePull: ")
		if !found {
			why = waiting.Message
		}
		return fmt.Sprintf("cannot pull image %s: %s", c.Image, why)
	case waiting != nil && waiting.Reason != "":
		return fmt.Sprintf("is waiting: %s: %s", waiting.Reason, waiting.Message)
	}
	return ""
}

// AgentTrouble returns what keeps a container that Orcon added to a pod from running; empty if
// nothing does.
func AgentTrouble(p *corev1.Pod) string {
	for _, c := range AgentStatuses(p) {
		if c.State.Running != nil {
			continue
		}
		if why := ContainerTrouble(c); why != "" {
			return fmt.Sprintf("container %s of pod %s %s", c.Name, p.Name, why)
		}
	}
	return ""
}

// HoldingSince returns since when a container that Orcon added runs and holds back those after it, as the start
// gate does; zero if none does.
func HoldingSince(p *corev1.Pod) time.Time {
	for _, c := range AgentStatuses(p) {
		if c.State.Running != nil {
			return c.State.Running.StartedAt.UTC()
		}
	}
	return time.Time{}
}

// AgentStatuses returns as much of the statuses of the containers that Orcon added as AgentTrouble and
// HoldingSince read, and nothing for those that are ready.
func AgentStatuses(p *corev1.Pod) []corev1.ContainerStatus {
	var kept []corev1.ContainerStatus
	for _, c := range p.Status.InitContainerStatuses {
		if injection.Added(c.Name) && !c.Ready {
			kept = append(kept, corev1.ContainerStatus{Name: c.Name, Image: c.Image, State: c.State, LastTerminationState: c.LastTerminationState})
		}
	}
	return kept
}
