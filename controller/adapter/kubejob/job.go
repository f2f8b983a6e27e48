package kubejob

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
)

// Runner holds what all pods of runs have in common.
type Runner struct {
	// Image is that of job-runner, PullPolicy when it is pulled; "" for the cluster's default.
	Image      string
	PullPolicy corev1.PullPolicy
	// Address is the URL of the jobs API, as pods reach it.
	Address string
}

const (
	// annotationTrust holds the certificates by which the keeper trusts the jobs API.
	annotationTrust = "job.orcon.tengu.io/trust"
	// labelQueue is that of Kueue. A JobRun's own is that of its Jobs.
	labelQueue = "kueue.x-k8s.io/queue-name"
	// capture is the time that a keeper has after the grace, to capture and to store the state.
	capture = 2 * time.Minute
)

// name returns the name of the Job of an attempt. The name of a JobRun has at most 52 characters, so that those of the
// Job and of its pod fit.
func name(n executor.Name) string { return n.Run + "-" + strconv.Itoa(n.Number) }

// selector returns the labels by which the Job and the pod of an attempt are found.
func selector(n executor.Name) map[string]string {
	return map[string]string{v1alpha1.LabelRunUID: n.UID, v1alpha1.LabelAttempt: strconv.Itoa(n.Number)}
}

// build returns the Job of an attempt. Trust are PEM certificates; queue is that of Kueue, "" for none.
func build(a executor.Attempt, r Runner, trust, queue string) *batchv1.Job {
	labels := selector(a.Name)
	labels[v1alpha1.LabelRun], labels[v1alpha1.LabelWorkspace] = a.Run, a.Workspace
	labels["app.kubernetes.io/managed-by"] = "orcon"
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: name(a.Name), Namespace: a.Namespace, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: "JobRun", Name: a.Run, UID: types.UID(a.UID), Controller: new(true),
			}},
		},
		Spec: batchv1.JobSpec{
			Parallelism: new(int32(1)), Completions: new(int32(1)), BackoffLimit: new(int32(0)),
			PodReplacementPolicy: new(batchv1.Failed),
			PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
				Action: batchv1.PodFailurePolicyActionFailJob,
				OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{
					{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue},
				},
			}}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{annotationTrust: trust}},
				Spec:       pod(a, r),
			},
		},
	}
	if queue != "" {
		job.Labels = maps.Clone(labels)
		job.Labels[labelQueue] = queue
	}
	return job
}

// seconds returns a time in whole seconds, rounded up.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// literal returns a text that the kubelet leaves as it is: it replaces $(NAME) in commands, arguments and variables.
func literal(text string) string { return strings.ReplaceAll(text, "$", "$$") }

// literals returns texts that the kubelet leaves as they are.
func literals(all []string) []string {
	same := make([]string, len(all))
	for i, text := range all {
		same[i] = literal(text)
	}
	return same
}

// option returns an argument of the runner.
func option(name string, value any) string { return literal(fmt.Sprintf("--%s=%v", name, value)) }
