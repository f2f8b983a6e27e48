package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// deployment/examples/platform from a bare cluster, by one command: each part starts when
// what it needs is there, so that none ever ends and starts again, and each Job runs once, when
// the identity service answers. The same again changes nothing; uninstalled, the cluster is
// what it was (BUNDLES.md 7).
func examplePlatform(t *testing.T, c *controlplane.Cluster) {
	loadPostgreSQL(t, c)
	program, before := controlplane.Binary(t, "orcon"), c.Snapshot(t)
	w := &world{Cluster: c, t: t, client: c.Client(t), namespace: "default"}
	seen := w.watchPods("platform")

	install := []string{"install", deployment(t, "examples/platform"), "--name", "platform", "--yes", "--timeout", patience.String()}
	began := time.Now()
	code, out := w.orcon(program, install...)
	require.Zero(t, code, out)
	t.Logf("a platform after %s", time.Since(began).Round(100*time.Millisecond))
	page := w.Kubectl(t, "-n", "platform", "exec", "deploy/console", "--", "wget", "-q", "-O", "-", "http://console:8080")
	t.Log(page)
	assert.Contains(t, page, "in platform\nlabels: app=\"console\"\nusers: admin console\n")
	code, out = w.orcon(program, install...)
	require.Zero(t, code, out)
	assert.Contains(t, out, "nothing to change in 15 objects")

	w.namespace = "platform"
	jobs := w.jobs()
	w.namespace = "default"
	require.Len(t, jobs, 2)
	history := seen()
	for _, job := range jobs {
		ranOnceWhenAnswered(t, history, job)
	}
	for _, p := range history {
		assert.NotEqual(t, corev1.PodFailed, p.Status.Phase, p.Name)
		for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
			assert.Zero(t, s.RestartCount, "container %s of pod %s started again", s.Name, p.Name)
			assert.True(t, s.State.Terminated == nil || s.State.Terminated.ExitCode == 0, "container %s of pod %s failed", s.Name, p.Name)
		}
	}

	_, refusal := w.orcon(program, "uninstall", "platform", "--yes")
	w.removes(program, "platform", refusal)
	require.Eventually(t, func() bool { return assert.ObjectsAreEqual(before, c.Snapshot(t)) }, patience, time.Second, "what was stored is collected")
}

// ranOnceWhenAnswered asserts that a Job had one pod, made when a pod of the identity service
// was ready, and never one that failed.
func ranOnceWhenAnswered(t *testing.T, history []corev1.Pod, job string) {
	t.Helper()
	var pods []string
	answered := false
	for _, p := range history {
		answered = answered || p.Labels["app"] == "identity" && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		if p.Labels["batch.kubernetes.io/job-name"] == job && !slices.Contains(pods, p.Name) {
			pods = append(pods, p.Name)
			assert.True(t, answered, "%s began when the identity service did not answer yet", p.Name)
		}
	}
	assert.Len(t, pods, 1, "Job %s runs once", job)
}

// watchPods remembers each state of each pod of a namespace, in order, until it is asked
// for them.
func (w *world) watchPods(namespace string) (seen func() []corev1.Pod) {
	w.t.Helper()
	ctx, stop := context.WithCancel(w.t.Context())
	watch, err := w.client.CoreV1().Pods(namespace).Watch(ctx, metav1.ListOptions{})
	require.NoError(w.t, err)
	var history []corev1.Pod
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range watch.ResultChan() {
			if p, ok := event.Object.(*corev1.Pod); ok {
				history = append(history, *p)
			}
		}
	}()
	return func() []corev1.Pod {
		w.t.Helper()
		stop()
		<-done
		require.True(w.t, slices.ContainsFunc(history, func(p corev1.Pod) bool { return strings.HasPrefix(p.Name, "console-") }), "somebody watched to the end")
		return history
	}
}
