package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// restartable is a script that shows how it was started, and ends when it is told to by a file.
const restartable = `mkdir -p /tmp
echo "stale=$ORCON_STALE host=$DB_HOST" >/tmp/started
while [ ! -e /tmp/stop ]; do sleep 1; done`

// shown is a script that shows how the container was started, once it was.
const shown = `while [ ! -s /tmp/started ]; do sleep 1; done; cat /tmp/started`

// staleStart has a pod start while the controller is away: with a copy of its data, ten seconds after its agent, if its
// author allows that; live data takes its place as soon as the controller is back. While the webhook is away as well, what
// a drain evicts is not made again before Orcon is back (TRUST.md A1).
func staleStart(t *testing.T, c *controlplane.Cluster) {
	w := newWorld(t, c)
	w.apply(external("db-endpoint", "db", "db.tengu.io"))
	allowed := workload{kind: "Deployment", name: "app", annotations: consumesDB + ", tengu.io/gate: stale", script: restartable}
	w.apply(allowed.yaml())
	w.apply(workload{kind: "Deployment", name: "strict", annotations: consumesDB}.yaml())
	live, strict := w.running("app", 1)[0], w.running("strict", 1)[0]
	assert.Equal(t, "stale= host=db.tengu.io", w.sh(live.Name, shown))
	w.contains("db.tengu.io", "get", "configmap", application.StaleCopy("app"), "-o", "jsonpath={.data.app}")

	w.scale(0, controllerName)
	w.deletion(live)
	w.deletion(strict)
	pod := w.running("app", 1)[0]
	assert.Equal(t, "stale=true host=db.tengu.io", w.sh(pod.Name, shown))
	assert.Equal(t, "db.tengu.io", w.sh(pod.Name, "cat /bindings/db/host"))
	waited := mainStatus(&pod).State.Running.StartedAt.Sub(agentStatus(&pod).State.Running.StartedAt.Time)
	t.Logf("without a controller, the pod started %s after its agent", waited)
	assert.GreaterOrEqual(t, waited, 9*time.Second, "both times are in whole seconds")
	w.waiting("strict", 1)
	w.contains("a copy", "exec", pod.Name, "-c", "relation-agent", "--", "/relation-agent", "status")

	w.move("db2.tengu.io")
	w.scale(2, controllerName)
	w.reads("db2.tengu.io", pod.Name, "/bindings/db/host")
	w.running("strict", 1)
	assert.Equal(t, "stale=true host=db.tengu.io", w.sh(pod.Name, shown), "nothing changes the environment of a container that runs")
	w.sh(pod.Name, "touch /tmp/stop")
	w.until("app", 1, "restarted", func(p *corev1.Pod) bool { return ready(p) && mainStatus(p).RestartCount == 1 })
	assert.Equal(t, "stale= host=db2.tengu.io", w.sh(pod.Name, shown), "the next container has live data")

	w.drainedWithoutOrcon(pod)
	allowed.annotations = consumesDB
	w.apply(allowed.yaml())
	w.prints("", "get", "configmap", application.StaleCopy("app"), "-o", "jsonpath={.data.app}")
}

// drainedWithoutOrcon drains the node of a pod while all of Orcon is away.
func (w *world) drainedWithoutOrcon(pod corev1.Pod) {
	w.t.Helper()
	w.scale(0, controllerName, webhookName)
	w.Kubectl(w.t, "drain", pod.Spec.NodeName, "--pod-selector=app=app", "--delete-emptydir-data", "--ignore-daemonsets", "--timeout=120s")
	w.gone(pod)
	w.Kubectl(w.t, "uncordon", pod.Spec.NodeName)
	w.contains(`failed calling webhook "pods.relations.tengu.io"`, "get", "events", "--field-selector", "reason=FailedCreate",
		"-o", "jsonpath={.items[*].message}")
	pods, err := w.client.CoreV1().Pods(w.namespace).List(w.t.Context(), metav1.ListOptions{LabelSelector: "app=app"})
	require.NoError(w.t, err)
	assert.Empty(w.t, pods.Items, "no pod starts bare")
	w.scale(2, webhookName, controllerName)
	again := w.running("app", 1)[0]
	assert.Contains(w.t, w.sh(again.Name, shown), "host=db2.tengu.io")
}
