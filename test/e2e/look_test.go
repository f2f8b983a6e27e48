package e2e

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// pods returns the pods with label app that are not being deleted, oldest first.
func (w *world) pods(app string) []corev1.Pod {
	w.t.Helper()
	list, err := w.client.CoreV1().Pods(w.namespace).List(w.t.Context(), metav1.ListOptions{LabelSelector: "app=" + app})
	require.NoError(w.t, err)
	pods := slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
	slices.SortFunc(pods, func(a, b corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return pods
}

// until waits until exactly n pods of app all fit, and returns them.
func (w *world) until(app string, n int, what string, fits func(*corev1.Pod) bool) []corev1.Pod {
	w.t.Helper()
	var found []corev1.Pod
	w.eventually(func() string {
		found = w.pods(app)
		count := 0
		for i := range found {
			if fits(&found[i]) {
				count++
			}
		}
		if count == n && len(found) == n {
			return ""
		}
		return fmt.Sprintf("of %d pods of %s, %d are %s, not %d", len(found), app, count, what, n)
	})
	return found
}

// waiting returns the n pods of app once all of them wait at the gate.
func (w *world) waiting(app string, n int) []corev1.Pod {
	w.t.Helper()
	return w.until(app, n, "waiting at the gate", waits)
}

// waits reports whether a pod waits at the gate: its agent runs, it has its IP,
// and its containers have not begun (INJECTION.md I16).
func waits(p *corev1.Pod) bool {
	agent := agentStatus(p)
	return agent != nil && agent.State.Running != nil && agent.Started != nil && !*agent.Started &&
		p.Status.PodIP != "" && mainStatus(p) != nil && mainStatus(p).State.Waiting != nil
}

// running returns the n pods of app once all of them are ready.
func (w *world) running(app string, n int) []corev1.Pod {
	w.t.Helper()
	return w.until(app, n, "ready", ready)
}

func ready(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func agentStatus(p *corev1.Pod) *corev1.ContainerStatus {
	return statusOf(p.Status.InitContainerStatuses, "relation-agent")
}

func mainStatus(p *corev1.Pod) *corev1.ContainerStatus {
	return statusOf(p.Status.ContainerStatuses, "main")
}

func statusOf(all []corev1.ContainerStatus, name string) *corev1.ContainerStatus {
	if i := slices.IndexFunc(all, func(s corev1.ContainerStatus) bool { return s.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// sh runs a script in a pod's container and returns what it printed.
func (w *world) sh(pod, script string) string {
	w.t.Helper()
	return w.kubectl("exec", pod, "-c", "main", "--", "sh", "-c", script)
}

// reads waits until a file in a running container has a content.
func (w *world) reads(want, pod, path string) {
	w.t.Helper()
	w.prints(want, "exec", pod, "-c", "main", "--", "cat", path)
}

// log returns a container's log.
func (w *world) log(pod, container string) string {
	w.t.Helper()
	out, err := w.client.CoreV1().Pods(w.namespace).GetLogs(pod, &corev1.PodLogOptions{Container: container}).DoRaw(w.t.Context())
	require.NoError(w.t, err)
	return string(out)
}

// relation waits for the relation of a requirer with a provider, until it fits.
func (w *world) relation(requirer, provider, what string, fits func(*v1alpha1.Relation) bool) v1alpha1.Relation {
	w.t.Helper()
	var found v1alpha1.Relation
	w.eventually(func() string {
		var list v1alpha1.RelationList
		require.NoError(w.t, w.objects.List(w.t.Context(), &list, client.InNamespace(w.namespace)))
		for _, found = range list.Items {
			if found.Spec.Requirer.Application == requirer && found.Spec.Provider.Application == provider && fits(&found) {
				return ""
			}
		}
		return fmt.Sprintf("no relation of %s with %s is %s: %+v", requirer, provider, what, list.Items)
	})
	return found
}

// conditionOf returns a condition's status, reason and message.
func conditionOf(all []metav1.Condition, kind condition.Type) metav1.Condition {
	if c := meta.FindStatusCondition(all, string(kind)); c != nil {
		return *c
	}
	return metav1.Condition{}
}

func relationReady(r *v1alpha1.Relation) bool {
	return conditionOf(r.Status.Conditions, condition.Ready).Status == metav1.ConditionTrue
}

func relationHeld(r *v1alpha1.Relation) bool {
	return r.Status.HoldTime != nil && conditionOf(r.Status.Conditions, condition.Held).Status == metav1.ConditionTrue
}

// gone waits until a pod with that UID is no more.
func (w *world) gone(pod corev1.Pod) {
	w.t.Helper()
	w.eventually(func() string {
		now, err := w.client.CoreV1().Pods(w.namespace).Get(w.t.Context(), pod.Name, metav1.GetOptions{})
		if client.IgnoreNotFound(err) == nil && (err != nil || now.UID != pod.UID) {
			return ""
		}
		return "pod " + pod.Name + " is still there"
	})
}

// deletion deletes a pod with its own grace period and returns how long it took
// until it was gone.
func (w *world) deletion(pod corev1.Pod) time.Duration {
	w.t.Helper()
	begin := time.Now()
	require.NoError(w.t, w.client.CoreV1().Pods(w.namespace).Delete(w.t.Context(), pod.Name, metav1.DeleteOptions{}))
	w.gone(pod)
	return time.Since(begin).Round(10 * time.Millisecond)
}

// process returns the process whose command begins so and whose environment has
// that variable, as the host knows it: a container of the cluster.
func (w *world) process(command, variable string) *os.Process {
	w.t.Helper()
	folders, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(w.t, err)
	for _, folder := range folders {
		line, _ := os.ReadFile(filepath.Join(folder, "cmdline"))
		environment, _ := os.ReadFile(filepath.Join(folder, "environ"))
		if !strings.HasPrefix(string(line), command) || !slices.Contains(strings.Split(string(environment), "\x00"), variable) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(folder))
		require.NoError(w.t, err)
		process, err := os.FindProcess(pid)
		require.NoError(w.t, err)
		return process
	}
	require.FailNow(w.t, "no process of "+command+" has "+variable)
	return nil
}
