package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// outage is how long all of Orcon is away. The rule speaks of ten minutes; every
// timer that an outage sets off (a dead peer, the pauses between attempts, the
// probes of the kubelet) is shorter than this.
const outage = 50 * time.Second

// scale sets the replicas of Orcon's Deployments and waits until it is so.
func (w *world) scale(replicas int, names ...string) {
	w.t.Helper()
	for _, name := range names {
		w.Kubectl(w.t, "-n", "orcon-system", "scale", "deployment/"+name, fmt.Sprintf("--replicas=%d", replicas))
	}
	for _, name := range names {
		w.Kubectl(w.t, "-n", "orcon-system", "rollout", "status", "deployment/"+name, "--timeout=300s")
		w.eventually(func() string {
			// Also from a clean-up, when the test's context is over.
			pods, err := w.client.CoreV1().Pods("orcon-system").List(context.WithoutCancel(w.t.Context()), metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + name})
			require.NoError(w.t, err)
			if len(pods.Items) == replicas {
				return ""
			}
			return fmt.Sprintf("%s has %d pods, not %d", name, len(pods.Items), replicas)
		})
	}
}

const (
	controllerName = "relations-controller"
	webhookName    = "relations-mutating-webhook"
)

// What is done to the whole of Orcon is done to one that no other test uses, one
// after the other.
func TestDisturbances(t *testing.T) {
	t.Parallel()
	c := ownOrcon(t)
	require.True(t, t.Run("RotateSelfSigned", func(t *testing.T) { rotateSelfSigned(t, c) }))
	require.True(t, t.Run("LeaderDies", func(t *testing.T) { leaderDies(t, c) }))
	require.True(t, t.Run("WebhookEnds", func(t *testing.T) { webhookEnds(t, c) }))
	require.True(t, t.Run("Outage", func(t *testing.T) { outageOfAll(t, c) }))
	require.True(t, t.Run("StaleStart", func(t *testing.T) { staleStart(t, c) }))
	require.True(t, t.Run("KubeletWithoutEnvFiles", func(t *testing.T) { kubeletWithoutEnvFiles(t, c) }))
}

// Pods are ready all through an outage of the whole of Orcon, with the agent
// that they had; what waits can be deleted; workloads that declare nothing
// start, as does everything in other namespaces; and afterwards changes flow
// again (SAFETY.md I19, INJECTION.md I5, I16, I30).
func outageOfAll(t *testing.T, c *controlplane.Cluster) {
	w := newWorld(t, c)
	other := w.inUnlabelled()
	w.apply(external("db-endpoint", "db", "db.tengu.io"))
	w.apply(workload{kind: "Deployment", name: "app", annotations: consumesDB, replicas: 2}.yaml())
	w.apply(workload{kind: "Pod", name: "waiter", annotations: `tengu.io/consumes: db, tengu.io/relations: never`, grace: 30}.yaml())
	kept, killed := w.running("app", 2)[0], w.running("app", 2)[1]
	waiter := w.waiting("waiter", 1)[0]
	unready := w.watchReadiness("app")

	w.scale(0, controllerName, webhookName)
	end := time.NewTimer(outage)
	defer end.Stop()
	t.Logf("a waiting pod with 30 s of grace was gone %s after its deletion, without a controller", w.deletion(waiter))
	w.apply(sleeper("Deployment", "plain", ""))
	other.apply(sleeper("Deployment", "plain", consumesDB))
	w.running("plain", 1)
	other.running("plain", 1)
	out, err := w.tryWith(sleeper("Pod", "declaring", consumesDB), "apply", "-f", "-")
	require.Error(t, err, "a declaring pod must not start bare")
	assert.Contains(t, out, "pods.relations.tengu.io", "and the refusal says who is missing")
	w.move("db2.tengu.io") // the declaration webhook is not needed for it
	<-end.C
	assert.Empty(t, unready(), "no pod was unready for a moment")
	w.assertUnmoved(kept, killed)

	w.agentDies(killed)
	w.scale(2, controllerName, webhookName)
	for _, pod := range []corev1.Pod{kept, killed} {
		w.reads("db2.tengu.io", pod.Name, "/bindings/db/host")
	}
	for _, now := range w.running("app", 2) {
		if now.UID == kept.UID {
			assert.Equal(t, agentStatus(&kept).ContainerID, agentStatus(&now).ContainerID, "the agent is the one that was there before")
		}
		assert.Zero(t, mainStatus(&now).RestartCount)
	}
}

// assertUnmoved asserts that nothing of the pods has changed.
func (w *world) assertUnmoved(before ...corev1.Pod) {
	w.t.Helper()
	for _, pod := range before {
		now, err := w.client.CoreV1().Pods(w.namespace).Get(w.t.Context(), pod.Name, metav1.GetOptions{})
		require.NoError(w.t, err)
		assert.Equal(w.t, pod.UID, now.UID)
		assert.Equal(w.t, agentStatus(&pod).ContainerID, agentStatus(now).ContainerID)
		assert.Equal(w.t, mainStatus(&pod).ContainerID, mainStatus(now).ContainerID)
		assert.Equal(w.t, "db.tengu.io", w.sh(pod.Name, "cat /bindings/db/host"), "the last files stay")
	}
}

// agentDies kills the agent of a pod while there is no controller: it comes
// back by itself with all that it knew, and the pod is ready again, its
// containers undisturbed.
func (w *world) agentDies(pod corev1.Pod) {
	w.t.Helper()
	begin := time.Now()
	require.NoError(w.t, w.process("/relation-agent\x00", "POD_UID="+string(pod.UID)).Kill())
	w.eventually(func() string {
		now, err := w.client.CoreV1().Pods(w.namespace).Get(w.t.Context(), pod.Name, metav1.GetOptions{})
		require.NoError(w.t, err)
		if agentStatus(now).RestartCount == 1 && ready(now) {
			return ""
		}
		return "the pod is not ready again"
	})
	w.t.Logf("an agent that was killed in the outage was back, and its pod ready, %s later", time.Since(begin).Round(time.Millisecond))
	assert.Equal(w.t, "db.tengu.io", w.sh(pod.Name, "cat /bindings/db/host"))
}

// watchReadiness watches the pods of app from now on; what it returns tells
// which of them was not ready at any time since.
func (w *world) watchReadiness(app string) (unready func() []string) {
	w.t.Helper()
	list, err := w.client.CoreV1().Pods(w.namespace).List(w.t.Context(), metav1.ListOptions{LabelSelector: "app=" + app})
	require.NoError(w.t, err)
	watcher, err := w.client.CoreV1().Pods(w.namespace).Watch(w.t.Context(), metav1.ListOptions{LabelSelector: "app=" + app, ResourceVersion: list.ResourceVersion})
	require.NoError(w.t, err)
	told := make(chan []string)
	var stopped atomic.Bool
	go func() {
		var all []string
		for event := range watcher.ResultChan() {
			if event.Type == watch.Error && stopped.Load() {
				continue // the end of the watch, as we asked
			}
			if pod, ok := event.Object.(*corev1.Pod); !ok || event.Type == watch.Deleted || !ready(pod) {
				all = append(all, fmt.Sprintf("%s: %v", event.Type, event.Object))
			}
		}
		told <- all
	}()
	return func() []string {
		stopped.Store(true)
		watcher.Stop()
		return <-told
	}
}

// With two replicas, the end of the one that leads delays a change and loses
// nothing: neither when its pod is deleted, nor when it dies and its lease has
// to run out.
func leaderDies(t *testing.T, c *controlplane.Cluster) {
	w := newWorld(t, c)
	w.apply(external("db-endpoint", "db", "db.tengu.io"))
	w.apply(sleeper("Deployment", "app", consumesDB))
	pod := w.running("app", 1)[0]
	ends := map[string]func(leader corev1.Pod){
		"deleted": func(leader corev1.Pod) {
			require.NoError(t, w.client.CoreV1().Pods(leader.Namespace).Delete(t.Context(), leader.Name, metav1.DeleteOptions{}))
		},
		"killed": func(leader corev1.Pod) {
			require.NoError(t, w.process("/relations-controller\x00", "HOSTNAME="+leader.Name).Kill())
		},
	}
	for how, end := range ends {
		leader, lease := w.leader()
		end(leader)
		begin := time.Now()
		w.move(how + ".tengu.io")
		w.reads(how+".tengu.io", pod.Name, "/bindings/db/host")
		t.Logf("the change was in the file %s after its command began, the leader %s having been %s just before", time.Since(begin).Round(time.Millisecond), leader.Name, how)
		_, now := w.leader()
		assert.NotEqual(t, lease, now, "another process leads")
		w.Kubectl(t, "-n", "orcon-system", "rollout", "status", "deployment/"+controllerName, "--timeout=300s")
	}
	now := w.running("app", 1)[0]
	assert.Equal(t, mainStatus(&pod).ContainerID, mainStatus(&now).ContainerID)
	assert.Equal(t, agentStatus(&pod).ContainerID, agentStatus(&now).ContainerID)
}

// An admission fails only if the webhook that answers it is killed, or if it is sent there before the webhook runs again.
// None fails in a restart (TRUST.md A2).
func webhookEnds(t *testing.T, c *controlplane.Cluster) {
	w := newWorld(t, c)
	restarted := w.admit()
	w.restart(webhookName)
	restarted.none()

	for _, pod := range w.in(system).replicas(webhookName) { // the API server is connected to one of them
		killed := w.admit()
		require.NoError(t, w.process("/relations-mutating-webhook\x00", "HOSTNAME="+pod.Name).Kill())
		w.eventually(func() string {
			now, err := w.client.CoreV1().Pods(pod.Namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
			require.NoError(t, err)
			if ready(now) && now.Status.ContainerStatuses[0].RestartCount > 0 {
				return ""
			}
			return "the webhook has not started again"
		})
		again := time.Now()
		killed.more(50)
		for _, f := range killed.end() {
			assert.Less(t, f.began, again, f.why)
		}
	}
}

// leader returns the controller's pod that leads, once one does, and the name
// by which it does.
func (w *world) leader() (leader corev1.Pod, holder string) {
	w.t.Helper()
	w.eventually(func() string {
		var lease coordinationv1.Lease
		require.NoError(w.t, w.objects.Get(w.t.Context(), client.ObjectKey{Namespace: "orcon-system", Name: controllerName}, &lease))
		if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
			return "nobody leads"
		}
		holder = *lease.Spec.HolderIdentity
		name, _, _ := strings.Cut(holder, "_")
		err := w.objects.Get(w.t.Context(), client.ObjectKey{Namespace: "orcon-system", Name: name}, &leader)
		if err != nil || leader.DeletionTimestamp != nil {
			return name + " leads and is gone"
		}
		return ""
	})
	return leader, holder
}
