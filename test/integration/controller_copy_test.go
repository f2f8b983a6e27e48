package integration

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/stale"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// copyOf returns the ConfigMap that has an application's copy.
func (w *controllerWorld) copyOf(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: w.meta(application.StaleCopy(name))}
}

// copied returns what the copy of an application holds, and whether there is one.
func (w *controllerWorld) copied(name string) (stale.Copy, bool) {
	w.t.Helper()
	m := w.copyOf(name)
	if err := w.admin.Get(w.ctx, client.ObjectKeyFromObject(m), m); err != nil {
		require.True(w.t, apierrors.IsNotFound(err), "%v", err)
		return stale.Copy{}, false
	}
	text, there := m.Data[name]
	if !there {
		return stale.Copy{}, false
	}
	c, err := stale.Parse(text)
	require.NoError(w.t, err)
	return c, true
}

// staleConsumer is a Deployment whose pods may start with a copy.
func (w *controllerWorld) staleConsumer(name, endpoints, of string) client.Object {
	declared := consumes(endpoints, of)
	declared[application.KeyGate], declared[application.KeyRetain] = application.GateStale, "0s"
	return w.consumer(name, declared)
}

// awaitCopy waits until the copy of web has the host of each endpoint; none for no copy.
func (w *controllerWorld) awaitCopy(want map[string]string, why string) {
	w.t.Helper()
	w.awaitCopyOf("web", want, why)
}

func (w *controllerWorld) awaitCopyOf(name string, want map[string]string, why string) {
	w.t.Helper()
	controlplane.Eventually(w.t, func() bool {
		c, there := w.copied(name)
		found := map[string]string{}
		for _, i := range c.Items {
			found[i.Endpoint] = i.Data["host"]
		}
		return there == (want != nil) && maps.Equal(found, want)
	}, soon, why)
}

// The copy follows the data, and goes with what it was made for (TRUST.md A1).
func TestControllerCopiesData(t *testing.T) {
	w := newControllerWorld(t)
	c := w.controller(-1)
	sse := w.provider("sse-endpoint", "sse.tengu.io")
	w.create(sse, w.provider("db-endpoint", "db.tengu.io"), w.staleConsumer("web", "sse,db", "sse-endpoint,db-endpoint"),
		w.consumer("api", consumes("sse", "sse-endpoint")))
	both := map[string]string{"sse": "sse.tengu.io", "db": "db.tengu.io"}
	w.awaitCopy(both, "the data is complete")
	assert.Equal(t, v1alpha1.StaleCopyPresent, w.app("web").State.StaleCopy)
	_, there := w.copied("api")
	assert.False(t, there, "stale starts are off by default")

	w.change(sse, func() { sse.Spec.ExternalName = "sse2.tengu.io" })
	w.awaitCopy(map[string]string{"sse": "sse2.tengu.io", "db": "db.tengu.io"}, "the data has changed")
	w.optOut()
	w.awaitCopy(nil, "the namespace has opted out")
	controlplane.Eventually(t, func() bool { return w.app("web").State.StaleCopy == "" }, soon, "nothing is left to delete")
	w.optIn()
	w.awaitCopy(map[string]string{"sse": "sse2.tengu.io", "db": "db.tengu.io"}, "the namespace has opted in again")
	web := w.consumer("web", nil)
	w.change(web, func() { delete(web.Spec.Template.Annotations, application.KeyGate) })
	w.awaitCopy(nil, "the author does not allow it any more")
	assert.Zero(t, c.refused.Load(), "the roles are enough")
}

// What has ended is in no copy any more when its end is stored (TRUST.md A1). The revisions of one store are in order.
func TestControllerDeletesTheCopyBeforeTheEnd(t *testing.T) {
	w := newControllerWorld(t)
	w.controller(-1)
	w.create(w.provider("sse-endpoint", "sse.tengu.io"), w.staleConsumer("web", "sse", "sse-endpoint"))
	w.awaitCopy(map[string]string{"sse": "sse.tengu.io"}, "the data is complete")
	watcher, err := client.NewWithWatch(w.cluster.Config(t), client.Options{Scheme: w.scheme})
	require.NoError(t, err)
	events := func(list client.ObjectList) <-chan watch.Event {
		watching, err := watcher.Watch(w.ctx, list, client.InNamespace(w.namespace))
		require.NoError(t, err)
		t.Cleanup(watching.Stop)
		return watching.ResultChan()
	}
	configMaps, relations := events(&corev1.ConfigMapList{}), events(&v1alpha1.RelationList{})
	web := w.consumer("web", nil)
	w.change(web, func() { delete(web.Spec.Template.Annotations, application.KeyRelations) })
	gone, ended := uint64(0), uint64(0)
	for deadline := time.After(soon); gone == 0 || ended == 0; {
		select {
		case e := <-configMaps:
			if m, is := e.Object.(*corev1.ConfigMap); is && m.Name == application.StaleCopy("web") && m.Data["web"] == "" {
				gone = object.Revision(m)
			}
		case e := <-relations:
			if r, is := e.Object.(*v1alpha1.Relation); is && ended == 0 && (r.Status.EndReason != "" || r.DeletionTimestamp != nil) {
				ended = object.Revision(r)
			}
		case <-deadline:
			require.Fail(t, "the relation never ends, or its copy stays", "%d %d", gone, ended)
		}
	}
	assert.Less(t, gone, ended)
}

// A withdrawn Offer, and a Secret that the data refers to, take the relation out of the copy (TRUST.md A1).
func TestControllerCopiesNothingWithdrawn(t *testing.T) {
	w := newControllerWorld(t)
	w.controller(-1)
	bank := w.another()
	vault := bank.provider("vault", "vault.tengu.io")
	vault.Labels, vault.Annotations = nil, map[string]string{application.KeyProvides: "main:sse"}
	offer := bank.offer(w.namespace)
	bank.create(vault, offer)
	w.create(w.staleConsumer("web", "sse", "vault."+bank.namespace))
	w.awaitCopy(map[string]string{"sse": "vault.tengu.io"}, "the data is complete")
	require.NoError(t, w.admin.Delete(w.ctx, offer))
	w.awaitCopy(nil, "the relation is suspended")
	bank.create(bank.offer(w.namespace))
	w.awaitCopy(map[string]string{"sse": "vault.tengu.io"}, "the relation goes on")
	bank.change(vault, func() { vault.Annotations["data.tengu.io/main"] = "password: secret:abc" })
	w.awaitCopy(nil, "the data refers to a secret")
	w.awaitCondition("web", "StaleRefused", "NeedsSecret")
}

// Two applications whose copies share a ConfigMap each have their own, and a copy that does not fit, or goes, leaves the other
// one as it is (TRUST.md A1).
func TestControllerCopiesShareAConfigMap(t *testing.T) {
	w := newControllerWorld(t)
	c := w.controller(-1)
	require.Equal(t, application.StaleCopy("web"), application.StaleCopy("shop"))
	db := w.provider("db-endpoint", "db.tengu.io")
	web, shop := w.staleConsumer("web", "sse", "sse-endpoint"), w.staleConsumer("shop", "db", "db-endpoint")
	w.create(w.provider("sse-endpoint", "sse.tengu.io"), db, web, shop)
	first, second := map[string]string{"sse": "sse.tengu.io"}, map[string]string{"db": "db.tengu.io"}
	w.awaitCopyOf("web", first, "the data is complete")
	w.awaitCopyOf("shop", second, "the data is complete")
	w.change(db, func() { db.Spec.ExternalName = "db2.tengu.io" })
	w.awaitCopyOf("shop", map[string]string{"db": "db2.tengu.io"}, "the data has changed")
	w.awaitCopyOf("web", first, "the other one has not")

	taken := w.copyOf("front") // a user's, which has the name of Orcon's
	taken.Data = map[string]string{"front": "a"}
	w.create(taken, w.staleConsumer("front", "sse", "sse-endpoint"))
	w.awaitCondition("front", "StaleRefused", "NotWritable")
	require.NoError(t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(taken), taken))
	assert.Equal(t, map[string]string{"front": "a"}, taken.Data)

	require.NoError(t, w.admin.Delete(w.ctx, shop))
	w.awaitCopyOf("shop", nil, "the application is gone")
	w.awaitCopyOf("web", first, "the other one is not")
	assert.Zero(t, c.refused.Load(), "the roles are enough")
}

// awaitCondition waits until an application has a condition for a reason.
func (w *controllerWorld) awaitCondition(name, condition, reason string) {
	w.t.Helper()
	controlplane.Eventually(w.t, func() bool {
		return slices.ContainsFunc(w.app(name).Status.Conditions, func(c metav1.Condition) bool {
			return c.Type == condition && c.Reason == reason
		})
	}, soon, "the author learns why")
}

// A copy that leaves no room is refused with the reason, and the largest that is accepted is stored, also if Kubernetes
// writes each byte as several (TRUST.md A1).
func TestControllerRefusesTooLargeCopies(t *testing.T) {
	w := newControllerWorld(t)
	c := w.controller(-1)
	w.create(
		w.consumer("one", map[string]string{application.KeyProvides: "main:pg"}), w.consumer("two", map[string]string{application.KeyProvides: "main:pg"}),
		w.staleConsumer("web", "a:pg,b:pg", "a=one:main,b=two:main"),
	)
	speakers, relations := map[string]*speaker{}, map[string]string{}
	for i, name := range []string{"one", "two"} {
		s := w.speaker(c, name, fmt.Sprintf("10.9.4.%d", i+1))
		related := func(s *wire.Snapshot) bool { return len(s.GetRelations()) == 1 && len(s.GetOwn()) == 1 }
		speakers[name], relations[name] = s, hears(t, s.stream, "its relation", related).GetRelations()[0].GetUid()
	}
	says := func(name string, data map[string]string) {
		t.Helper()
		s := speakers[name]
		_, err := s.api.Commit(w.ctx, asking(s, &wire.CommitRequest{
			Term: w.leads(s), Changes: []*wire.Change{{Relation: relations[name], Application: true, Set: data}},
		}))
		require.NoError(t, err)
	}
	const quote = `"` // in JSON, which is a string in JSON again
	says("one", map[string]string{"host": "one", "a": strings.Repeat(quote, 60<<10), "b": strings.Repeat(quote, 60<<10)})
	says("two", map[string]string{"host": "two", "a": strings.Repeat(quote, 60<<10), "b": strings.Repeat(quote, 30<<10)})
	w.awaitCopy(map[string]string{"a": "one", "b": "two"}, "it is as large as a copy may be")
	stored := w.copyOf("web")
	require.NoError(t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(stored), stored))
	text, err := json.Marshal(stored.Data)
	require.NoError(t, err)
	assert.Greater(t, len(text), stale.MaxStored*9/10)

	says("two", map[string]string{"c": strings.Repeat(quote, 30<<10)})
	w.awaitCondition("web", string(condition.StaleRefused), "TooLarge")
	w.awaitCopy(nil, "what is stored would be out of date")
	says("two", map[string]string{"c": "", "host": "there"})
	w.awaitCopy(map[string]string{"a": "one", "b": "there"}, "there is room again")
	assert.Zero(t, c.refused.Load(), "the roles are enough")
}

// With its roles, the controller reads and writes no ConfigMap but those of copies and the bundle (TRUST.md R1).
func TestControllerWritesCopiesOnly(t *testing.T) {
	w := newControllerWorld(t)
	controller, owner := w.as(controllerUser), client.FieldOwner("relations-controller")
	w.create(&corev1.ConfigMap{ObjectMeta: w.meta("settings"), Data: map[string]string{"password": "a"}})
	write := client.RawPatch(types.MergePatchType, []byte(`{"data":{"web":"{}"}}`))
	for _, name := range []string{"settings", "orcon-stale-8", "orcon-stale-web"} {
		m := &corev1.ConfigMap{ObjectMeta: w.meta(name)}
		refusals := map[string]error{
			"get":    controller.Get(w.ctx, client.ObjectKeyFromObject(m), m),
			"patch":  controller.Patch(w.ctx, m, write),
			"delete": controller.Delete(w.ctx, m),
			"create": controller.Create(w.ctx, m.DeepCopy()),
			"apply":  controller.Apply(w.ctx, applycorev1.ConfigMap(name, w.namespace), owner),
		}
		for verb, err := range refusals {
			assert.True(t, apierrors.IsForbidden(err), "%s %s: %v", verb, name, err)
		}
		assert.Empty(t, m.Data)
	}
	assert.True(t, apierrors.IsForbidden(controller.List(w.ctx, &corev1.ConfigMapList{}, client.InNamespace(w.namespace))))
	for _, name := range application.StaleCopies() {
		m := &corev1.ConfigMap{ObjectMeta: w.meta(name)}
		require.NoError(t, controller.Apply(w.ctx, applycorev1.ConfigMap(name, w.namespace), owner), "what it needs")
		require.NoError(t, controller.Patch(w.ctx, m, write))
		require.NoError(t, controller.Get(w.ctx, client.ObjectKeyFromObject(m), m))
		assert.True(t, apierrors.IsForbidden(controller.Delete(w.ctx, m)), "what it does not need")
		assert.True(t, apierrors.IsForbidden(controller.Update(w.ctx, m)))
	}
}
