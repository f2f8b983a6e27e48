package kubejob

import (
	"cmp"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
)

// see returns what exists of an attempt: its Job, nil for none, and the pods with its labels. Refusal is what the Events of
// the suspect report; "" for nothing.
func see(job *batchv1.Job, pods []corev1.Pod, refusal string) executor.Sight {
	if job == nil && len(pods) == 0 {
		return executor.Sight{}
	}
	s := executor.Sight{Over: over(job, pods)}
	s.Made, s.Progress = true, "its Job has not made a pod yet"
	if job != nil && len(pods) == 0 && !s.Over {
		s.Obstacle = cmp.Or(refusal, suspended(job))
	}
	p := latest(pods)
	if p == nil {
		return s
	}
	s.Claimant, s.Where, s.Progress = string(p.UID), p.Spec.NodeName, progress(p)
	s.Obstacle = cmp.Or(obstacle(p), refusal)
	if end := ended(p); end != nil {
		s.Stopped, s.OutOfMemory = !s.Over, end.Reason == reasonOutOfMemory
	}
	return s
}

// progress tells how far a pod has started. Its keeper claims the run as soon as it runs.
func progress(p *corev1.Pod) string {
	runs := func(c corev1.ContainerStatus) bool { return c.Name == containerKeeper && c.State.Running != nil }
	switch {
	case p.Spec.NodeName == "":
		return "its pod waits for a node"
	case slices.ContainsFunc(p.Status.InitContainerStatuses, runs):
		return fmt.Sprintf("its keeper has not claimed it yet: if that lasts, `kubectl logs -n %s %s -c %s` tells why", p.Namespace, p.Name, containerKeeper)
	}
	return "its pod starts on node " + p.Spec.NodeName
}

// over reports that neither process nor keeper exists, and that none will come: the Job makes no further pod, or is
// gone, and no pod is left that has not ended.
func over(job *batchv1.Job, pods []corev1.Pod) bool {
	for i := range pods {
		if !finished(&pods[i]) {
			return false
		}
	}
	return job == nil || slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
	})
}

// latest returns the pod that was made last; nil for none. A Job makes one, and another one if that is lost before it
// is counted.
func latest(pods []corev1.Pod) *corev1.Pod {
	var last *corev1.Pod
	for i := range pods {
		if last == nil || last.CreationTimestamp.Before(&pods[i].CreationTimestamp) {
			last = &pods[i]
		}
	}
	return last
}

func finished(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// reasonOutOfMemory is the kubelet's reason for a container that the kernel killed for lack of memory.
const reasonOutOfMemory = "OOMKilled"

// ended returns how the template's container ended; nil for one that has not.
func ended(p *corev1.Pod) *corev1.ContainerStateTerminated {
	for _, c := range p.Status.ContainerStatuses {
		if c.Name == containerTemplate {
			return c.State.Terminated
		}
	}
	return nil
}

// obstacle tells why a pod does not start, or ended before its keeper started; "" for no known reason.
func obstacle(p *corev1.Pod) string {
	if finished(p) {
		return failure(p)
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return explained(c.Reason, c.Message)
		}
	}
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil && !slices.Contains(usual(), w.Reason) {
			return explained(w.Reason, cmp.Or(w.Message, "container "+c.Name+" does not start"))
		}
	}
	return ""
}

// failure tells why a pod has ended before its time; "" for no known reason.
func failure(p *corev1.Pod) string {
	if p.Status.Reason != "" {
		return explained(p.Status.Reason, p.Status.Message)
	}
	for _, c := range p.Status.InitContainerStatuses {
		if t := c.State.Terminated; t != nil && t.ExitCode != 0 && c.Name != containerKeeper {
			return explained(t.Reason, cmp.Or(t.Message, fmt.Sprintf("container %s ended with exit code %d", c.Name, t.ExitCode)))
		}
	}
	return ""
}

// usual returns the reasons for which containers of a healthy pod wait.
func usual() []string { return []string{"", "ContainerCreating", "PodInitializing"} }

// suspended tells that another controller, such as Kueue, holds a Job back; "" for one that it does not.
func suspended(job *batchv1.Job) string {
	if job.Spec.Suspend == nil || !*job.Spec.Suspend {
		return ""
	}
	return explained("Suspended", "the Job waits for the controller that admits it")
}

func explained(reason, message string) string {
	if message == "" {
		return reason
	}
	return reason + ": " + message
}

// The reasons of Events that tell why nothing starts: of a Job whose pod the API server refuses, as for a quota, and of a
// pod whose volumes cannot be made, as where a Secret is missing.
const (
	reasonFailedCreate = "FailedCreate"
	reasonFailedMount  = "FailedMount"
)

// suspect returns the object whose Events of a reason tell why an attempt does not start; "" for none.
func suspect(job *batchv1.Job, pods []corev1.Pod) (uid types.UID, reason string) {
	p := latest(pods)
	switch {
	case job != nil && p == nil:
		return job.UID, reasonFailedCreate
	case p != nil && unmounted(p):
		return p.UID, reasonFailedMount
	}
	return "", ""
}

// unmounted reports that a pod has a node, and that none of its containers was made yet.
func unmounted(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodPending && p.Spec.NodeName != "" &&
		!slices.ContainsFunc(p.Status.InitContainerStatuses, func(c corev1.ContainerStatus) bool { return c.State.Waiting == nil })
}

// refusal returns the message of the last Event; "" for none.
func refusal(events []corev1.Event) string {
	var last *corev1.Event
	for i, e := range events {
		if last == nil || last.LastTimestamp.Before(&e.LastTimestamp) {
			last = &events[i]
		}
	}
	if last == nil {
		return ""
	}
	return explained(last.Reason, last.Message)
}
