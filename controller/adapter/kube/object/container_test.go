package object

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestContainerTrouble(t *testing.T) {
	waiting := func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
	ended := &corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error", Message: "no database"}
	tests := map[string]struct {
		why  string
		in   corev1.ContainerStatus
		want string
	}{
		"Creating":  {"time alone is no trouble", corev1.ContainerStatus{State: waiting("ContainerCreating", "")}, ""},
		"Pull":      {"the image is named", corev1.ContainerStatus{Image: "none:1", State: waiting("ErrImagePull", "not found")}, "cannot pull image none:1: not found"},
		"BackOff":   {"while it waits to try again, the words are the same", corev1.ContainerStatus{Image: "none:1", State: waiting("ImagePullBackOff", `Back-off pulling image "none:1": ErrImagePull: not found`)}, "cannot pull image none:1: not found"},
		"CrashLoop": {"what its last run said", corev1.ContainerStatus{State: waiting("CrashLoopBackOff", "back-off"), LastTerminationState: corev1.ContainerState{Terminated: ended}}, "exited with code 3 (Error): no database"},
		"Config":    {"a Secret that is not there", corev1.ContainerStatus{State: waiting("CreateContainerConfigError", `secret "key" not found`)}, `is waiting: CreateContainerConfigError: secret "key" not found`},
		"Running":   {"what runs has none", corev1.ContainerStatus{Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, ContainerTrouble(test.in), test.why) })
	}
}

// Of a pod's containers only those that Orcon added are the agent's trouble, and as much is known
// of what a cache keeps of the pod.
func TestAgentTrouble(t *testing.T) {
	pulls := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "not found"}}
	runs := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	crashed := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: "no folder /handlers"}}
	backOff := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 40s"}}
	tests := map[string]struct {
		why  string
		in   []corev1.ContainerStatus
		want string
	}{
		"Pull":    {"the image of the handlers is the author's", []corev1.ContainerStatus{{Name: "relation-agent", State: runs}, {Name: "relation-handlers", Image: "none:1", State: pulls}}, "container relation-handlers of pod web cannot pull image none:1: not found"},
		"Crash":   {"what it wrote as it ended", []corev1.ContainerStatus{{Name: "relation-handlers", State: backOff, LastTerminationState: crashed}}, "container relation-handlers of pod web exited with code 1 (Error): no folder /handlers"},
		"Waiting": {"an agent that ended once and now waits for a relation runs", []corev1.ContainerStatus{{Name: "relation-agent", State: runs, LastTerminationState: crashed}}, ""},
		"Others":  {"a container of the author's is not Orcon's", []corev1.ContainerStatus{{Name: "init", Image: "none:1", State: pulls}}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := &corev1.Pod{Status: corev1.PodStatus{InitContainerStatuses: test.in}}
			p.Name = "web"
			kept, err := stripPod(p)
			require.NoError(t, err)
			assert.Equal(t, test.want, AgentTrouble(kept.(*corev1.Pod)), test.why)
		})
	}
}

// A container of Orcon's that runs and is not ready holds back those after it, and the cache keeps since when.
func TestHoldingSince(t *testing.T) {
	since := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	runs := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: since}}
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	tests := map[string]struct {
		why   string
		in    []corev1.ContainerStatus
		holds bool
	}{
		"Gate":     {"its startup probe has not succeeded", []corev1.ContainerStatus{{Name: "relation-agent", State: runs}}, true},
		"Handlers": {"the gate is on the last container", []corev1.ContainerStatus{{Name: "relation-agent", State: runs, Ready: true}, {Name: "relation-handlers", State: runs}}, true},
		"Open":     {"it has", []corev1.ContainerStatus{{Name: "relation-agent", State: runs, Ready: true}, {Name: "relation-canary", State: ended, Ready: true}}, false},
		"Others":   {"a container of the author's", []corev1.ContainerStatus{{Name: "migrate", State: runs}}, false},
		"Unborn":   {"nothing runs yet", nil, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			kept, err := stripPod(&corev1.Pod{Status: corev1.PodStatus{InitContainerStatuses: test.in}})
			require.NoError(t, err)
			assert.Equal(t, test.holds, HoldingSince(kept.(*corev1.Pod)).Equal(since.Time), test.why)
		})
	}
}
