package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/health"
)

// fates sums up the fates of the pods of one workload.
type fates struct {
	newest health.Fate
	// last is the pod of newest, if that has failed, and failed counts those that have failed.
	last   *corev1.Pod
	failed int
}

func (f *fates) add(p *corev1.Pod) {
	fate := health.Fate{Created: p.CreationTimestamp.Time, Failed: p.Status.Phase == corev1.PodFailed}
	accepted := p.Status.Phase != corev1.PodPending || slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReadyToStartContainers && c.Status == corev1.ConditionTrue
	})
	if fate.Failed {
		f.failed++
	}
	if !accepted || !fate.Outweighs(f.newest) {
		return
	}
	f.newest, f.last = fate, nil
	if fate.Failed {
		f.last = p
	}
}

// String returns why the last pod has failed, and how many have; empty if it has not.
func (f *fates) String() string {
	switch {
	case f.last == nil:
		return ""
	case f.failed == 1:
		return failure(f.last)
	}
	return fmt.Sprintf("%d pods have failed, the last: %s", f.failed, failure(f.last))
}

// failure returns why a pod has failed for good, with the command that shows more: its node has refused or evicted it,
// or a container of it has exited.
func failure(p *corev1.Pod) string {
	why, log := trouble(p)
	if p.Status.Reason == "" && why != "" {
		return log.After(why)
	}
	return fmt.Sprintf("pod %s has failed%s; see kubectl -n %s describe pod %[1]s", p.Name, rejection(p), p.Namespace)
}

// rejection returns why a node has refused or evicted a pod, as the end of a sentence; empty if it has not.
func rejection(p *corev1.Pod) string {
	said := []string{p.Status.Reason, strings.TrimSuffix(oneLine(p.Status.Message), ".")}
	said = slices.DeleteFunc(said, func(part string) bool { return part == "" })
	return strings.Join(append([]string{""}, said...), ": ")
}

// overdueAfter is how long after its time a pod is still about to end.
const overdueAfter = time.Minute

// overdue returns why a pod that is being deleted is still there; empty until its time is over.
func overdue(p *corev1.Pod, now time.Time) string {
	by := p.DeletionTimestamp.UTC()
	switch {
	case now.Before(by.Add(overdueAfter)):
		return ""
	case len(p.Finalizers) > 0:
		return fmt.Sprintf("pod %s was to end by %s, and is kept by its finalizers: %s", p.Name, by.Format(time.RFC3339),
			strings.Join(p.Finalizers, ", "))
	}
	return fmt.Sprintf("pod %s was to end by %s, and node %s has not confirmed that; see kubectl get nodes", p.Name,
		by.Format(time.RFC3339), p.Spec.NodeName)
}

// unreachable returns why a pod is not ready although its containers are, by the last report of its node; empty if it is
// ready, or they are not.
func unreachable(p *corev1.Pod) string {
	var containers, pod corev1.PodCondition
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.ContainersReady {
			containers = c
		}
		if c.Type == corev1.PodReady {
			pod = c
		}
	}
	switch {
	case containers.Status != corev1.ConditionTrue || pod.Status != corev1.ConditionFalse:
		return ""
	case pod.Message != "":
		return fmt.Sprintf("pod %s is not ready: %s", p.Name, oneLine(pod.Message))
	}
	return fmt.Sprintf("pod %s is not ready although its containers were, so that node %s may not answer; see kubectl get nodes",
		p.Name, p.Spec.NodeName)
}

// lacksReady reports whether the controller of pods has fewer that are ready than it should have, as far as its kind is
// known.
func lacksReady(o *unstructured.Unstructured) bool {
	number := func(path ...string) int64 {
		n, _, _ := unstructured.NestedInt64(o.Object, path...)
		return n
	}
	switch o.GetKind() {
	case "ReplicaSet", "StatefulSet":
		return number("status", "readyReplicas") < number("spec", "replicas")
	case "DaemonSet":
		return number("status", "numberReady") < number("status", "desiredNumberScheduled")
	case "Job":
		return !hasCondition(o, "Complete")
	default:
		return true
	}
}

// AddJobs adds the Jobs of a namespace that have failed, of all namespaces for "", as far as the account may list them:
// their pods may be gone. Only the newest Job of a CronJob counts.
func (p Pods) AddJobs(ctx context.Context, c client.Reader, namespace string) {
	newest := map[client.ObjectKey]*unstructured.Unstructured{}
	_ = walk(ctx, c, batchv1.SchemeGroupVersion.WithKind("Job"), func(object map[string]any) { // others are not shown
		job := &unstructured.Unstructured{Object: object}
		source := client.ObjectKey{Namespace: job.GetNamespace(), Name: "Job/" + job.GetName()}
		if owner := metav1.GetControllerOf(job); owner != nil {
			source.Name = owner.Kind + "/" + owner.Name
		}
		if was := newest[source]; was == nil || was.GetCreationTimestamp().Time.Before(job.GetCreationTimestamp().Time) {
			newest[source] = job
		}
	}, client.InNamespace(namespace))
	for source, job := range newest {
		i := slices.IndexFunc(conditions(job), func(c bundle.Object) bool { return c.Text("type") == "Failed" && c.Text("status") == "True" })
		if i < 0 {
			continue
		}
		text := fmt.Sprintf("Job %s has failed: %s", job.GetName(), conditions(job)[i].Text("message"))
		if why := p.Failing[source]; why != "" {
			p.Failing[source] = text + ": " + why
		} else {
			p.Failing[source] = fmt.Sprintf("%s; see kubectl -n %s describe job %s", text, source.Namespace, job.GetName())
		}
	}
}
