package integration

import (
	"context"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	podagent "gitlab.ilabt.imec.be/tengu/orcon/controller/agent"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

// events are those that handlers have begun to handle.
type events struct {
	mu    sync.Mutex
	hooks []string
}

func (e *events) add(turn podagent.Turn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hooks = append(e.hooks, turn.Hook)
}

func (e *events) all() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.hooks)
}

// onNode binds the pod of a Deployment to a node of its own, so that it has a grace period when it is deleted.
func (w *controllerWorld) onNode(deployment string) *corev1.Pod {
	w.t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: deployment + "-" + w.namespace}}
	w.create(node)
	w.t.Cleanup(func() { _ = w.admin.Delete(context.WithoutCancel(w.ctx), node) })
	pod := w.podOf(deployment)
	require.NoError(w.t, w.cluster.Client(w.t).CoreV1().Pods(w.namespace).Bind(w.ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: node.Name},
	}, metav1.CreateOptions{}))
	return pod
}

// A pod with 30 s of grace is deleted while the controllers are stopped for some seconds, and its handlers are slow: all
// of its own end is handled before its grace period is over (TRUST.md T2).
func TestUnitsOwnEndIsAwaited(t *testing.T) {
	w := newChaosWorld(t)
	const stopped, slow = 6 * time.Second, 5 * time.Second // together longer than 15 s, and shorter than 28 s
	heard, over := &events{}, make(chan struct{})
	ending, end := context.WithCancel(w.ctx)
	w.node.use = func(_ context.Context, a *chaosAgent) {
		if a.application != "web" {
			return
		}
		defer close(over)
		podagent.Runner{Socket: a.socket()}.Run(ending, func(ctx context.Context, turn podagent.Turn) podagent.Done {
			heard.add(turn)
			if ending.Err() != nil {
				wait(ctx, slow)
			}
			if ctx.Err() == nil {
				a.tool(ctx, turn.Env, "relation-set", turn.Hook+"="+turn.Env["ORCON_FINAL"])
			}
			return podagent.Done{Context: turn.Context, Handled: true}
		})
	}
	require.NoError(t, w.deploy(w.controllerWorld, "db", 1, map[string]string{application.KeyProvides: "main:pg"}))
	require.NoError(t, w.deploy(w.controllerWorld, "web", 1, consumes("store:pg", "db")))
	pod := w.onNode("web")
	w.eventually("the shop knows its database", func() bool {
		return slices.Contains(heard.all(), "store-relation-changed") && slices.Contains(heard.all(), "leader-elected")
	})
	known := len(heard.all())
	said := func() string {
		for _, bag := range w.bagsOf(w.relations()["db"].State.Identity) {
			if value := bag.State.Data["store-relation-broken"]; value != "" {
				return value
			}
		}
		return ""
	}
	require.Empty(t, said())

	for _, c := range w.controllers {
		require.True(t, c.signal(syscall.SIGSTOP))
	}
	web := &appsv1.Deployment{ObjectMeta: w.meta("web")}
	w.change(web, func() { web.Spec.Replicas = new(int32) })
	w.eventually("the pod ends", func() bool { return w.podOf("web").DeletionTimestamp != nil })
	deadline := w.podOf("web").DeletionTimestamp
	end()
	began := time.Now()
	<-time.After(stopped)
	for _, c := range w.controllers {
		require.True(t, c.signal(syscall.SIGCONT))
	}
	<-over
	t.Logf("the handlers had %s, and %s were left", time.Since(began).Round(100*time.Millisecond), time.Until(deadline.Time).Round(100*time.Millisecond))
	assert.Equal(t, []string{"store-relation-departed", "store-relation-broken"}, heard.all()[known:])
	assert.Positive(t, time.Until(deadline.Time))
	w.eventually("what they wrote is stored", func() bool { return said() == "false" })
	require.NoError(t, w.admin.Delete(w.ctx, pod, client.GracePeriodSeconds(0)))
}

// The container of a handler is killed in the middle of the end of a relation, and so is the agent: the end stays owed,
// and the handler runs again until it has succeeded (TRUST.md T2).
func TestEndOutlivesTheContainerOfItsHandler(t *testing.T) {
	w := newChaosWorld(t)
	agents := make(chan *chaosAgent, 1)
	w.node.use = func(_ context.Context, a *chaosAgent) {
		if a.application == "db" {
			agents <- a
		}
	}
	require.NoError(t, w.deploy(w.controllerWorld, "db", 1, map[string]string{application.KeyProvides: "main:pg"}))
	require.NoError(t, w.deploy(w.controllerWorld, "web", 1, consumes("store:pg", "db")))
	db := <-agents
	runner := podagent.Runner{Socket: db.socket()}
	next := func() podagent.Turn {
		for {
			turn, ok := runner.Next(w.ctx)
			require.True(t, ok)
			if turn.Hook != "leader-elected" { // it comes whenever the unit happens to lead
				return turn
			}
			require.NoError(t, runner.Done(w.ctx, podagent.Done{Context: turn.Context, Handled: true}))
		}
	}
	turn := next()
	for ; turn.Hook != "main-relation-broken"; turn = next() {
		require.NoError(t, runner.Done(w.ctx, podagent.Done{Context: turn.Context, Handled: true}))
		if turn.Hook == "main-relation-changed" {
			ended := w.relations()["db"]
			require.NoError(t, w.admin.Delete(w.ctx, &ended))
		}
	}
	owed := func() bool {
		side, there := w.sides()[v1alpha1.RoleProvider]
		return there && side.State.End != nil && side.State.End.State == ""
	}
	container := func() bool { return true } // its runner does not end the turn
	controller := func() bool { return w.controllers[0].restart(syscall.SIGKILL) }
	for _, killed := range []func() bool{container, db.kill, controller, container} {
		require.True(t, killed())
		w.marker("marker")
		require.True(t, owed())
		again := next()
		assert.Equal(t, "main-relation-broken", again.Hook)
		assert.Equal(t, "true", again.Env["ORCON_FINAL"])
		assert.NotEqual(t, turn.Context, again.Context)
		require.Error(t, runner.Done(w.ctx, podagent.Done{Context: turn.Context, Handled: true}), "the time of the handler that was killed is over")
		turn = again
	}
	require.True(t, owed())
	require.NoError(t, runner.Done(w.ctx, podagent.Done{Context: turn.Context, Handled: true}))
	ctx, stop := context.WithCancel(w.ctx)
	defer stop()
	go runner.Next(ctx) // the agent answers for the end as long as a runner waits
	w.eventually("the end is handled", func() bool { return !owed() })
}

// A relation ends while its provider has no unit: the first one that comes later, which knows nothing, runs departed for the
// unit that was there, and then broken (TRUST.md T2).
func TestInheritedEndBeginsWithDepartures(t *testing.T) {
	w := newChaosWorld(t)
	agents := make(chan *chaosAgent, 2)
	w.node.use = func(_ context.Context, a *chaosAgent) {
		if a.application == "db" {
			agents <- a
		}
	}
	require.NoError(t, w.deploy(w.controllerWorld, "db", 1, map[string]string{application.KeyProvides: "main:pg"}))
	require.NoError(t, w.deploy(w.controllerWorld, "web", 1, consumes("store:pg", "db")))
	until := func(a *chaosAgent, last string) (all []string) {
		runner := podagent.Runner{Socket: a.socket()}
		for !slices.Contains(all, last) {
			turn, ok := runner.Next(w.ctx)
			require.True(t, ok)
			if turn.Hook != "leader-elected" {
				all = append(all, strings.TrimSpace(turn.Hook+" "+turn.Env[tool.RemoteUnit]))
			}
			require.NoError(t, runner.Done(w.ctx, podagent.Done{Context: turn.Context, Handled: true}))
		}
		return all
	}
	first := <-agents
	until(first, "main-relation-changed web/0")
	require.True(t, first.end(syscall.SIGTERM), "its leadership ends with it")
	db := &appsv1.Deployment{ObjectMeta: w.meta("db")}
	w.change(db, func() { db.Spec.Replicas = new(int32) })
	w.eventually("no unit is left", func() bool { return w.app("db").State.Units[0].DepartureReason != "" })
	ended := w.relations()["db"]
	require.NoError(t, w.admin.Delete(w.ctx, &ended))
	w.eventually("the end is owed", func() bool { return w.sides()[v1alpha1.RoleProvider].State.End != nil })
	web := &appsv1.Deployment{ObjectMeta: w.meta("web")}
	require.NoError(t, w.admin.Delete(w.ctx, web))
	w.eventually("the Relation is gone, and so is the other unit", func() bool {
		var pods corev1.PodList
		require.NoError(t, w.admin.List(w.ctx, &pods, client.InNamespace(w.namespace)))
		return len(w.relations()) == 0 && len(pods.Items) == 0
	})
	w.change(db, func() { db.Spec.Replicas = new(int32(1)) })
	assert.Equal(t, []string{"main-relation-departed web/0", "main-relation-broken"}, until(<-agents, "main-relation-broken"))
}
