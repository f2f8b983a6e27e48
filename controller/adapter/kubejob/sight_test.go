package kubejob

import (
	"cmp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// made returns a pod in a phase; one with a longer name is younger.
func made(name string, phase corev1.PodPhase, status corev1.PodStatus) corev1.Pod {
	status.Phase = phase
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{UID: "pod-x", Namespace: "shop", Name: name, CreationTimestamp: metav1.NewTime(time.Unix(int64(len(name)), 0))},
		Spec:       corev1.PodSpec{NodeName: "node"}, Status: status,
	}
}

func waiting(container, reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: container, State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message},
	}}
}

func exited(container string, code int32, reason string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: container, State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason},
	}}
}

// noPod is the progress of a Job that has no pod.
const noPod = "its Job has not made a pod yet"

// JOBS.md J9 and J10: what counts as an obstacle, as a process that has ended, and as over.
func TestSee(t *testing.T) {
	ready, suspendedJob := &batchv1.Job{}, &batchv1.Job{Spec: batchv1.JobSpec{Suspend: new(true)}}
	ending := func(c batchv1.JobConditionType, s corev1.ConditionStatus) *batchv1.Job {
		return &batchv1.Job{Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: c, Status: s}}}}
	}
	failed := ending(batchv1.JobFailed, corev1.ConditionTrue)
	terminated := corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		Name: "template", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137}},
	}}}
	full := corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		Name: "template", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}},
	}}}
	seen := func(p run.Pod) executor.Sight {
		p.Made, p.Where, p.Progress = true, "node", cmp.Or(p.Progress, "its pod starts on node node")
		return executor.Sight{Pod: p, Claimant: "pod-x"}
	}
	gone := seen(run.Pod{})
	gone.Over = true
	tests := map[string]struct {
		why     string
		job     *batchv1.Job
		pods    []corev1.Pod
		refusal string
		want    executor.Sight
	}{
		"Nothing": {why: "nothing was made, or all of it is gone"},
		"NoPod":   {why: "the Job has just been made", job: ready, want: executor.Sight{Pod: run.Pod{Made: true, Progress: noPod}}},
		"Refused": {
			why: "a quota, or a policy", job: ready, refusal: "FailedCreate: quota",
			want: executor.Sight{Pod: run.Pod{Made: true, Progress: noPod, Obstacle: "FailedCreate: quota"}},
		},
		"Suspended": {
			why: "Kueue admits it later", job: suspendedJob,
			want: executor.Sight{Pod: run.Pod{Made: true, Progress: noPod, Obstacle: "Suspended: the Job waits for the controller that admits it"}},
		},
		"Unschedulable": {
			why: "no node has room", job: ready,
			pods: []corev1.Pod{made("p", corev1.PodPending, corev1.PodStatus{Conditions: []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes",
			}}})},
			want: seen(run.Pod{Obstacle: "Unschedulable: 0/1 nodes"}),
		},
		"Image": {
			why: "the image of the runner cannot be pulled", job: ready,
			pods: []corev1.Pod{made("p", corev1.PodPending, corev1.PodStatus{
				InitContainerStatuses: []corev1.ContainerStatus{waiting("install", "ImagePullBackOff", "manifest unknown")},
				ContainerStatuses:     []corev1.ContainerStatus{waiting("template", "PodInitializing", "")},
			})},
			want: seen(run.Pod{Obstacle: "ImagePullBackOff: manifest unknown"}),
		},
		"NoMessage": {
			why: "a reason without a message names the container", job: ready,
			pods: []corev1.Pod{made("p", corev1.PodPending, corev1.PodStatus{
				ContainerStatuses: []corev1.ContainerStatus{waiting("template", "CreateContainerError", "")},
			})},
			want: seen(run.Pod{Obstacle: "CreateContainerError: container template does not start"}),
		},
		"Starting": {
			why: "a pod that starts as all do has no obstacle", job: ready,
			pods: []corev1.Pod{made("p", corev1.PodPending, corev1.PodStatus{
				InitContainerStatuses: []corev1.ContainerStatus{waiting("install", "ContainerCreating", "")},
			})},
			want: seen(run.Pod{}),
		},
		"Unclaimed": {
			why: "its keeper runs, and only its log can tell why it has not claimed", job: ready,
			pods: []corev1.Pod{made("p", corev1.PodPending, corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{
				exited("install", 0, "Completed"), {Name: "keeper", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
			}})},
			want: seen(run.Pod{Progress: "its keeper has not claimed it yet: if that lasts, `kubectl logs -n shop p -c keeper` tells why"}),
		},
		"Running":     {why: "it runs", job: ready, pods: []corev1.Pod{made("p", corev1.PodRunning, corev1.PodStatus{})}, want: seen(run.Pod{})},
		"Stopped":     {why: "the keeper captures", job: ready, pods: []corev1.Pod{made("p", corev1.PodRunning, terminated)}, want: seen(run.Pod{Stopped: true})},
		"NoMemory":    {why: "the kernel killed it", job: ready, pods: []corev1.Pod{made("p", corev1.PodRunning, full)}, want: seen(run.Pod{Stopped: true, OutOfMemory: true})},
		"PodFailed":   {why: "the Job has not counted it yet", job: ready, pods: []corev1.Pod{made("p", corev1.PodFailed, corev1.PodStatus{})}, want: seen(run.Pod{})},
		"FailedPod":   {why: "both have ended", job: failed, pods: []corev1.Pod{made("p", corev1.PodFailed, terminated)}, want: gone},
		"FailedFirst": {why: "the pod is still there", job: failed, pods: []corev1.Pod{made("p", corev1.PodRunning, corev1.PodStatus{})}, want: seen(run.Pod{})},
		"Failing":     {why: "the Job still waits for its pods", job: ending(batchv1.JobFailureTarget, corev1.ConditionTrue), want: executor.Sight{Pod: run.Pod{Made: true, Progress: noPod}}},
		"NotFailed":   {why: "a condition may be false", job: ending(batchv1.JobFailed, corev1.ConditionFalse), want: executor.Sight{Pod: run.Pod{Made: true, Progress: noPod}}},
		"Complete":    {why: "its pod was deleted", job: ending(batchv1.JobComplete, corev1.ConditionTrue), want: executor.Sight{Pod: run.Pod{Made: true, Progress: noPod}, Over: true}},
		"JobDeleted":  {why: "its pod is still being stopped", pods: []corev1.Pod{made("p", corev1.PodRunning, corev1.PodStatus{})}, want: seen(run.Pod{})},
		"Evicted": {
			why: "the kubelet tells why", job: ready, pods: []corev1.Pod{made("p", corev1.PodFailed, corev1.PodStatus{Reason: "Evicted", Message: "low on memory"})},
			want: seen(run.Pod{Obstacle: "Evicted: low on memory"}),
		},
		"NoProgram": {
			why: "the image cannot run the runner", job: ready,
			pods: []corev1.Pod{made("p", corev1.PodFailed, corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{
				exited("keeper", 1, ""), exited("install", 0, "Completed"), exited("image", 128, "StartError"),
			}})},
			want: seen(run.Pod{Obstacle: "StartError: container image ended with exit code 128"}),
		},
		"NoSecret": {
			why: "its volumes cannot be made", job: ready, refusal: "FailedMount: secret not found",
			pods: []corev1.Pod{made("p", corev1.PodPending, corev1.PodStatus{})},
			want: seen(run.Pod{Obstacle: "FailedMount: secret not found"}),
		},
		"PodLeft": {why: "its pod has ended, too", pods: []corev1.Pod{made("p", corev1.PodSucceeded, terminated)}, want: gone},
		"Newest": {
			why: "the last pod counts", job: ready,
			pods: []corev1.Pod{made("younger", corev1.PodRunning, terminated), made("older", corev1.PodFailed, corev1.PodStatus{})},
			want: seen(run.Pod{Stopped: true}),
		},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) { assert.Equal(t, tc.want, see(tc.job, tc.pods, tc.refusal), tc.why) })
	}
}

// The Events of one object alone may tell why nothing starts, and only while nothing has started.
func TestSuspect(t *testing.T) {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{UID: "job-x"}}
	pending := made("p", corev1.PodPending, corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{waiting("install", "PodInitializing", "")}})
	begun := made("p", corev1.PodPending, corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{exited("install", 0, "Completed")}})
	unscheduled := made("p", corev1.PodPending, corev1.PodStatus{})
	unscheduled.Spec.NodeName = ""
	for label, tc := range map[string]struct {
		job       *batchv1.Job
		pods      []corev1.Pod
		uid, kind string
	}{
		"NoPod":       {job, nil, "job-x", reasonFailedCreate},
		"NoVolume":    {job, []corev1.Pod{pending}, "pod-x", reasonFailedMount},
		"Begun":       {job, []corev1.Pod{begun}, "", ""},
		"Unscheduled": {job, []corev1.Pod{unscheduled}, "", ""},
		"Running":     {job, []corev1.Pod{made("p", corev1.PodRunning, corev1.PodStatus{})}, "", ""},
		"Nothing":     {},
	} {
		t.Run(label, func(t *testing.T) {
			uid, reason := suspect(tc.job, tc.pods)
			assert.Equal(t, []string{tc.uid, tc.kind}, []string{string(uid), reason})
		})
	}
}

// Whatever the cluster shows, nothing counts as over while a pod may run or may come, and nothing is both over and at
// work (JOBS-DESIGN.md 1).
func TestOver(t *testing.T) {
	phases := rapid.SampledFrom([]corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed, corev1.PodUnknown})
	conditions := rapid.SampledFrom([]batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed, batchv1.JobFailureTarget, batchv1.JobSuspended})
	rapid.Check(t, func(t *rapid.T) {
		var job *batchv1.Job
		ending := false
		if rapid.Bool().Draw(t, "job") {
			job = &batchv1.Job{}
			for _, c := range rapid.SliceOf(conditions).Draw(t, "conditions") {
				job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: c, Status: corev1.ConditionTrue})
				ending = ending || c == batchv1.JobComplete || c == batchv1.JobFailed
			}
		}
		var pods []corev1.Pod
		live := false
		for _, phase := range rapid.SliceOf(phases).Draw(t, "pods") {
			pods = append(pods, made("p", phase, corev1.PodStatus{}))
			live = live || phase != corev1.PodSucceeded && phase != corev1.PodFailed
		}
		s := see(job, pods, "")
		assert.Equal(t, job != nil || len(pods) > 0, s.Made)
		assert.Equal(t, s.Made && !live && (job == nil || ending), s.Over)
		assert.False(t, s.Over && s.Stopped)
	})
}
