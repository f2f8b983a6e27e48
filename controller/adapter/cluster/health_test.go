package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/health"
)

// What a verdict means for a deployment (CONTENT.md H5).
func TestHealthOf(t *testing.T) {
	asked := health.Verdict{State: health.Suspended, Evidence: []health.Evidence{{Path: "spec.suspend", Class: health.Pause}}}
	tests := map[string]struct {
		why  string
		in   health.Verdict
		want bundle.Health
	}{
		"Ready":     {"it is", health.Verdict{State: health.Ready}, bundle.Ready},
		"Unknown":   {"nothing is known", health.Verdict{State: health.Unknown, Silent: true}, bundle.Unknown},
		"Silent":    {"its controller has written nothing", health.Verdict{State: health.InProgress, Silent: true}, bundle.Unknown},
		"Failing":   {"it may recover", health.Verdict{State: health.Failing}, bundle.Failing},
		"Terminal":  {"it will not", health.Verdict{State: health.Failing, Terminal: true}, bundle.Broken},
		"Asked":     {"the bundle asks for it", asked, bundle.Ready},
		"Suspended": {"something else suspended it", health.Verdict{State: health.Suspended}, bundle.InProgress},
		"Progress":  {"not yet", health.Verdict{State: health.InProgress}, bundle.InProgress},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) { assert.Equal(t, tc.want, healthOf(tc.in), tc.why) })
	}
}

// That the pods of one object cannot be read stops no other: it is in progress, and says why (CONTENT.md H1).
func TestJudgeWithoutPermission(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": map[string]any{"namespace": "shop", "name": "web"},
		"spec":   map[string]any{"replicas": int64(1), "selector": map[string]any{"matchLabels": map[string]any{"a": "b"}}, "template": map[string]any{}},
		"status": map[string]any{"replicas": int64(0)},
	}}
	l := bundle.Live{Object: o.Object}
	require.NoError(t, (&World{client: eventful{forbidden: true}}).judge(t.Context(), l.Object.ID(), o, &l))
	assert.Equal(t, bundle.InProgress, l.Health)
	assert.Contains(t, l.Says, "cannot be judged: cannot read the pods of ReplicaSet shop/web")
}

// discovered is an API group with the kind Engine.
type discovered []string

// ServerResourcesForGroupVersion returns the resources of Engine.
func (d discovered) ServerResourcesForGroupVersion(string) (*metav1.APIResourceList, error) {
	if d == nil {
		return nil, assert.AnError
	}
	list := &metav1.APIResourceList{}
	for _, name := range d {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: name, Kind: "Engine"})
	}
	return list, nil
}

// Whether a missing status will come is read from the definition (CONTENT.md H3).
func TestPresence(t *testing.T) {
	engine := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "race.example.org/v1", "kind": "Engine"}}
	for want, from := range map[health.Presence]discovered{
		health.Present: {"engines", "engines/status"}, health.Absent: {"engines", "engines/scale"}, health.Unsure: nil,
	} {
		assert.Equal(t, want, presence(from, engine))
		assert.Equal(t, want, knowledge(nil, nil, from, engine).Status)
	}
	told := engine.DeepCopy()
	told.Object["status"] = map[string]any{"phase": "Running"}
	assert.Equal(t, health.Unsure, knowledge(nil, nil, discovered{"engines/status"}, told).Status, "what has a status is not looked up")
}

// The annotation that opts out of an address is one that a bundle may have (CONTENT.md H2).
func TestAddressKey(t *testing.T) { assert.Equal(t, bundle.AddressKey, health.AddressKey) }

// after returns a text with the command that prints the log about it.
func after(text string, log bundle.Log) string { return log.After(text) }

func TestTrouble(t *testing.T) {
	unfit := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/1 nodes"}}}}
	unfit.Name = "web"
	why, _ := trouble(unfit)
	assert.Equal(t, "pod web cannot be scheduled: 0/1 nodes", why)
}

// A pod that is ready may be about to crash again.
func TestUnsettled(t *testing.T) {
	now := time.Unix(1000, 0)
	runs := func(since time.Duration) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: "web", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now.Add(-since))}}}
	}
	exited := &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}
	crashed := func(since, ran time.Duration) corev1.ContainerStatus {
		c := runs(since)
		end := now.Add(-since)
		c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error",
			StartedAt: metav1.NewTime(end.Add(-ran)), FinishedAt: metav1.NewTime(end)}
		return c
	}
	again := runs(time.Minute)
	again.RestartCount, again.LastTerminationState.Terminated = 1, exited
	back := corev1.ContainerStatus{Name: "web", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}
	back.LastTerminationState.Terminated = exited
	tests := map[string]struct {
		why    string
		probe  bool
		status corev1.ContainerStatus
		want   string
	}{
		"Runs":    {"for long enough", false, runs(settling), ""},
		"Starts":  {"ready means nothing without a probe", false, runs(time.Second), "container web of pod shop has only just started"},
		"Rounded": {"the kubelet cuts the second in which it started", false, runs(settling - time.Nanosecond), "container web of pod shop has only just started"},
		"Again":   {"it has crashed after a short run", false, crashed(9*time.Second, 2*time.Second), "container web of pod shop exited with code 1 (Error), and counts as healthy when it has run for 10s; see kubectl -n a logs shop -c web"},
		"Longer":  {"twice as long as before", false, crashed(39*time.Second, 20*time.Second), "container web of pod shop exited with code 1 (Error), and counts as healthy when it has run for 40s; see kubectl -n a logs shop -c web"},
		"Proven":  {"it has run for longer than before", false, crashed(40*time.Second, 20*time.Second), ""},
		"Days":    {"a crash after days", false, crashed(time.Minute, 72*time.Hour), ""},
		"Ahead":   {"the node's clock is ahead", false, runs(-time.Second), ""},
		"Probed":  {"its probe has answered", true, runs(time.Second), ""},
		"Crashed": {"that was long ago", false, again, ""},
		"Crashes": {"it waits for its next start", true, back, "container web of pod shop exited with code 1 (Error); see kubectl -n a logs shop -c web"},
		"Ended":   {"it exits with code 0 each time", true, corev1.ContainerStatus{Name: "web", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}}}, "container web of pod shop does not run"},
		"Made":    {"its workload has not seen yet that it ended", false, corev1.ContainerStatus{Name: "web", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "RunContainerError", Message: "no space"}}}, "container web of pod shop is waiting: RunContainerError: no space"},
		"Exited":  {"it is about to wait", true, corev1.ContainerStatus{Name: "web", State: corev1.ContainerState{Terminated: exited}}, "container web of pod shop exited with code 1 (Error); see kubectl -n a logs shop -c web"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web"}}}}
			p.Namespace, p.Name, p.Status.ContainerStatuses = "a", "shop", []corev1.ContainerStatus{test.status}
			if test.probe {
				p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{}
			}
			why, log, _ := unsettled(p, now)
			why = log.After(why)
			assert.Equal(t, test.want, why, test.why)
		})
	}
}

// What a container wrote as it ended is in its log: the command that prints it is named.
func TestTroubleNamesTheLog(t *testing.T) {
	p := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
		{Name: "m", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 4, Reason: "Error"}}},
	}}}
	p.Name, p.Namespace = "mig-x", "shop"
	assert.Equal(t, "container m of pod mig-x exited with code 4 (Error); see kubectl -n shop logs mig-x -c m", after(trouble(p)))
}

// A running pod that is not ready has a failing probe, which only its Events name.
func TestProbing(t *testing.T) {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	event := func(second int64, reason, container, message string) corev1.Event {
		return corev1.Event{Reason: reason, Message: message, LastTimestamp: metav1.Unix(second, 0),
			InvolvedObject: corev1.ObjectReference{FieldPath: "spec.containers{" + container + "}"}}
	}
	tests := map[string]struct {
		why    string
		ready  bool
		events []corev1.Event
		want   string
	}{
		"Failing": {"the newest counts", false, []corev1.Event{
			event(1, "Unhealthy", "web", "Readiness probe failed: connection refused"),
			event(3, "Unhealthy", "web", "Readiness probe failed: HTTP probe failed with\nstatuscode: 500\n"),
			event(2, "Unhealthy", "web", "Readiness probe failed: connection refused"),
		}, "container web of pod web-1 is not ready: Readiness probe failed: HTTP probe failed with statuscode: 500; see kubectl -n shop logs web-1 -c web"},
		"Ready":   {"it has recovered", true, []corev1.Event{event(1, "Unhealthy", "web", "failed")}, ""},
		"Other":   {"another container's probe explains nothing", false, []corev1.Event{event(1, "Unhealthy", "side", "failed")}, ""},
		"Started": {"other Events are no cause", false, []corev1.Event{event(1, "Started", "web", "Started container web")}, ""},
		"None":    {"it may still start", false, nil, ""},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			p := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "web", State: running, Ready: tc.ready}}}}
			p.Name, p.Namespace = "web-1", "shop"
			assert.Equal(t, tc.want, after(probing(p, tc.events)), tc.why)
			assert.Equal(t, tc.ready, ready(p))
		})
	}
}

// A pull that takes long names the container and the image that the pod waits for.
func TestStarting(t *testing.T) {
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	began, not := true, false
	tests := map[string]struct {
		why   string
		inits []corev1.ContainerStatus
		main  corev1.ContainerStatus
		want  string
	}{
		"Main":       {"its image is being pulled", nil, corev1.ContainerStatus{Name: "web", Image: "web:2", State: waiting}, "container web of pod shop has not started yet: image web:2"},
		"First":      {"the first one that waits is what the others wait for", []corev1.ContainerStatus{{Name: "init", Image: "init:1", State: waiting}}, corev1.ContainerStatus{Name: "web", State: waiting}, "container init of pod shop has not started yet: image init:1"},
		"Next":       {"those before it have ended or started", []corev1.ContainerStatus{{State: ended}, {State: running, Started: &began}}, corev1.ContainerStatus{Name: "web", Image: "web:2", State: waiting}, "container web of pod shop has not started yet: image web:2"},
		"InitRuns":   {"the image is not what it waits for", []corev1.ContainerStatus{{State: running, Started: &not}}, corev1.ContainerStatus{Name: "web", State: waiting}, ""},
		"AllStarted": {"nothing is left to start", nil, corev1.ContainerStatus{State: running, Started: &began}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := &corev1.Pod{Status: corev1.PodStatus{InitContainerStatuses: test.inits, ContainerStatuses: []corev1.ContainerStatus{test.main}}}
			p.Name = "shop"
			assert.Equal(t, test.want, starting(p), test.why)
		})
	}
}
