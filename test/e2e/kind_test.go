package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Every kind of workload is injected and works; a Job completes although it has
// a sidecar (INJECTION.md I3). The container itself looks at its variables and
// files, and fails if one is missing.
func TestKinds(t *testing.T) {
	t.Parallel()
	w := withOrcon(t)
	w.apply(external("db-endpoint", "db", "db.tengu.io"))
	check := complete("db-endpoint", "db.tengu.io")
	kinds := []string{"Deployment", "StatefulSet", "DaemonSet", "Pod"}
	for _, kind := range kinds {
		w.apply(workload{kind: kind, name: strings.ToLower(kind), annotations: consumesDB, script: check + "exec sleep infinity"}.yaml())
	}
	w.apply(workload{kind: "Job", name: "job", annotations: consumesDB, script: check}.yaml())

	for _, kind := range kinds {
		pod := w.running(strings.ToLower(kind), 1)[0]
		assertInjected(t, pod)
		assert.Zero(t, mainStatus(&pod).RestartCount, "%s: the first start found everything", kind)
	}
	w.eventually(func() string {
		job, err := w.client.BatchV1().Jobs(w.namespace).Get(t.Context(), "job", metav1.GetOptions{})
		require.NoError(t, err)
		for _, c := range job.Status.Conditions {
			require.False(t, c.Type == batchv1.JobFailed && c.Status == corev1.ConditionTrue, c.Message)
			if c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue {
				return ""
			}
		}
		return "the Job is not complete"
	})
	pod := w.pods("job")[0]
	assertInjected(t, pod)
	assert.Equal(t, corev1.PodSucceeded, pod.Status.Phase, "the agent ends after the Job's container (INJECTION.md I3)")
}

func assertInjected(t *testing.T, pod corev1.Pod) {
	t.Helper()
	assert.Equal(t, "injected", pod.Annotations["injector.tengu.io/status"])
	assert.Equal(t, "true", pod.Labels["tengu.io/injected"], "SAFETY.md I22")
	require.Len(t, pod.Spec.InitContainers, 2)
	assert.Equal(t, "relation-canary", pod.Spec.InitContainers[1].Name, "TRUST.md A5")
	agent := pod.Spec.InitContainers[0]
	assert.Equal(t, "relation-agent", agent.Name)
	assert.Equal(t, corev1.ContainerRestartPolicyAlways, *agent.RestartPolicy, "a native sidecar (INJECTION.md I3)")
	assert.Nil(t, agent.ReadinessProbe, "SAFETY.md I19")
	assert.Nil(t, agent.LivenessProbe, "SAFETY.md I19")
	assert.NotNil(t, agent.StartupProbe, "the gate (INJECTION.md I16)")
}
