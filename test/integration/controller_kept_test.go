package integration

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// cached counts the objects of the test's namespace in the caches of a replica, of the kinds that any namespace has.
func (w *controllerWorld) cached(r *controllerReplica) map[string]int {
	w.t.Helper()
	all := map[string]int{}
	for _, kind := range []client.Object{
		&corev1.Pod{}, &corev1.Service{}, &appsv1.Deployment{}, &appsv1.StatefulSet{}, &appsv1.DaemonSet{}, &batchv1.Job{},
		&batchv1.CronJob{}, object.ReplicaSet(), &networkingv1.NetworkPolicy{},
	} {
		store, err := object.StoreOf(w.ctx, r.informers, kind)
		require.NoError(w.t, err)
		indexer, ok := store.(toolscache.Indexer)
		require.True(w.t, ok)
		keys, err := indexer.IndexKeys(toolscache.NamespaceIndex, w.namespace)
		require.NoError(w.t, err)
		if len(keys) > 0 {
			all[fmt.Sprintf("%T", kind)] = len(keys)
		}
	}
	return all
}

// strange fills the namespace with many objects that declare nothing.
func (w *controllerWorld) strange(many int) {
	w.t.Helper()
	for i := range many {
		name := fmt.Sprintf("strange-%d", i)
		w.create(
			&corev1.Service{ObjectMeta: w.meta(name), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}},
			&networkingv1.NetworkPolicy{ObjectMeta: w.meta(name)},
		)
	}
	plain := w.consumer("plain", nil)
	plain.Spec.Template.Spec.InitContainers, *plain.Spec.Replicas = nil, int32(many)
	w.create(plain)
	w.podsOf("plain", many)
}

// marked waits until the caches of a replica show what was created last in a namespace that participates.
func (w *controllerWorld) marked(r *controllerReplica, namespace string) {
	w.t.Helper()
	last := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "last-"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
	w.create(last)
	controlplane.Eventually(w.t, func() bool {
		return r.informers.Get(w.ctx, client.ObjectKeyFromObject(last), &corev1.Service{}) == nil
	}, soon)
}

// A namespace that does not participate is in no cache, however much it holds. When it opts in it works with all that it held
// before, and when it no longer participates its objects leave the caches (TRUST.md U7).
func TestControllerKeepsWhatParticipates(t *testing.T) {
	const many = 100
	w := newControllerWorld(t)
	participates := w.namespace
	w.namespace = w.newNamespace(nil)
	w.strange(many)
	sleep := w.consumer("sleep", consumes("db", "db-endpoint"))
	sleep.Spec.Template.Spec.InitContainers = nil // as before the namespace had its label
	w.create(w.provider("db-endpoint", "db.tengu.io"), sleep)
	idle := w.another()
	idle.namespace = idle.newNamespace(nil)
	idle.strange(1)

	c := w.controller(-1)
	w.marked(c, participates)
	require.Empty(t, w.cached(c), "nothing of a namespace that does not participate")
	w.create(&corev1.Service{ObjectMeta: w.meta("later"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})
	w.marked(c, participates)
	require.Empty(t, w.cached(c), "nor what is new there")

	t.Log("it opts in")
	w.optIn()
	w.becomes("db-endpoint", "Complete")
	w.eventually("the pod has no agent", func() bool { return reason(w.app("sleep").Status.Conditions, "NotInjected") == "NoAgent" })
	assert.Equal(t, many+2, w.cached(c)["*v1.Service"])
	assert.Equal(t, many, w.cached(c)["*v1.NetworkPolicy"])
	w.change(sleep, func() {
		sleep.Spec.Template.Spec.InitContainers = w.consumer("sleep", nil).Spec.Template.Spec.InitContainers
	})
	w.eventually("its pods restart and are units", func() bool { return len(w.app("sleep").State.Units) > 0 })

	t.Log("another opts in and out")
	idle.optIn()
	idle.eventually("it is kept", func() bool { return idle.cached(c)["*v1.Service"] == 1 && idle.cached(c)["*v1.Pod"] == 1 })
	idle.optOut()
	idle.eventually("it is kept no longer", func() bool { return len(idle.cached(c)) == 0 })
	assert.Zero(t, c.refused.Load(), "deployment/rbac grants what the controller needs")
}

// A namespace that has not opted in participates while it holds a Relation, or a pod with an agent (TRUST.md U7).
func TestControllerKeepsWhatHoldsItsObjects(t *testing.T) {
	w := newControllerWorld(t)
	c := w.controller(-1)
	related, manned := w.another(), w.another()
	related.namespace, manned.namespace = w.newNamespace(nil), w.newNamespace(nil)
	related.strange(1)
	manned.strange(1)
	w.marked(c, w.namespace)
	require.Empty(t, related.cached(c))
	require.Empty(t, manned.cached(c))

	r := related.manual("sleep", "db-endpoint")
	w.create(r)
	related.eventually("a Relation", func() bool { return related.cached(c)["*v1.Pod"] == 1 && related.cached(c)["*v1.Deployment"] == 1 })
	w.create(manned.consumer("sleep", nil))
	pod := manned.podOf("sleep")
	manned.eventually("a pod with an agent, and its neighbours", func() bool { return manned.cached(c)["*v1.Pod"] == 2 })
	require.NoError(t, c.informers.Get(w.ctx, client.ObjectKeyFromObject(pod), pod))
	assert.True(t, object.Injected(pod))

	require.NoError(t, w.admin.Delete(w.ctx, r))
	require.NoError(t, w.admin.DeleteAllOf(w.ctx, &appsv1.Deployment{}, client.InNamespace(manned.namespace), client.PropagationPolicy(metav1.DeletePropagationForeground)))
	related.eventually("the Relation has gone", func() bool { return len(related.cached(c)) == 0 })
	manned.eventually("the pod has gone", func() bool { return len(manned.cached(c)) == 0 })
}
