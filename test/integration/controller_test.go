package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

func consumes(list, relations string) map[string]string {
	return map[string]string{application.KeyConsumes: list, application.KeyRelations: relations}
}

// From declarations to relations and back: the story of the demo, and all that
// may happen to its objects.
func TestControllerFollowsDeclarations(t *testing.T) {
	w := newControllerWorld(t)
	c := w.controller(-1)
	sleep := w.consumer("sleep", consumes("sse,db", "sse-endpoint,db-endpoint"))
	sse := w.provider("sse-endpoint", "idlab-iot.tengu.io")
	w.create(sse, sleep)
	w.becomes("sse-endpoint", "Complete")
	w.eventually("it says what it waits for", func() bool { return reason(w.app("sleep").Status.Conditions, "Ready") == "!WaitingForRelations" })
	assert.NotContains(t, w.relations(), "db-endpoint")

	t.Log("a Service that appears later")
	db := w.provider("db-endpoint", "db.tengu.io")
	w.create(db)
	w.becomes("db-endpoint", "Complete")
	w.eventually("the application is complete", func() bool { return reason(w.app("sleep").Status.Conditions, "Ready") == "Complete" })
	related := w.relations()["db-endpoint"]
	assert.Equal(t, "db.tengu.io", w.bag("db-endpoint").State.Data["host"])

	t.Log("externalName and ports change")
	w.change(db, func() { db.Spec.ExternalName = "db2.tengu.io" })
	w.eventually("the bag follows", func() bool { return w.bag("db-endpoint").State.Data["host"] == "db2.tengu.io" })
	w.change(db, func() { db.Spec.Ports = []corev1.ServicePort{{Name: "postgresql", Port: 5432}} })
	w.eventually("the ports follow", func() bool { return w.bag("db-endpoint").State.Data["url"] == "postgresql://db2.tengu.io:5432" })

	t.Log("SAFETY.md L5: an annotation removed and restored ends nothing")
	w.change(sleep, func() { sleep.Spec.Template.Annotations = consumes("sse,db", "sse-endpoint") })
	w.eventually("it is held", func() bool { return w.relations()["db-endpoint"].Status.HoldTime != nil })
	held := w.relations()["db-endpoint"]
	assert.Equal(t, "DeclarationGone", reason(held.Status.Conditions, "Held"))
	assert.Equal(t, "DeclarationGone", reason(held.Status.Conditions, "Ready"), "true, and no unit is notified")
	w.change(sleep, func() { sleep.Spec.Template.Annotations = consumes("sse,db", "sse-endpoint,db-endpoint") })
	w.eventually("it goes on", func() bool { return w.relations()["db-endpoint"].Status.HoldTime == nil })
	assert.Equal(t, related.UID, w.relations()["db-endpoint"].UID)
	assert.Equal(t, related.State.ID, w.relations()["db-endpoint"].State.ID)

	t.Log("the provider is deleted: not ready, with the reason, and its last data kept")
	require.NoError(t, w.admin.Delete(w.ctx, db))
	w.becomes("db-endpoint", "!ProviderGone")
	assert.Equal(t, "postgresql://db2.tengu.io:5432", w.bag("db-endpoint").State.Data["url"])
	db = w.provider("db-endpoint", "db3.tengu.io")
	w.create(db)
	w.becomes("db-endpoint", "Complete")
	assert.Equal(t, related.UID, w.relations()["db-endpoint"].UID, "the same relation goes on")

	t.Log("a rename of the endpoint is another relation; the old one is held")
	w.change(sse, func() { sse.Labels[application.KeyProvides] = "events" })
	w.eventually("held", func() bool { return w.relations()["sse-endpoint"].Status.HoldTime != nil })
	assert.Zero(t, c.refused.Load(), "deployment/rbac grants what the controller needs")
}

// SAFETY.md L5: retain is how long a relation outlives its declaration.
func TestControllerEndsWhatIsNotRetained(t *testing.T) {
	w := newControllerWorld(t)
	w.controller(-1)
	declared := consumes("db", "db-endpoint")
	declared[application.KeyRetain] = "0s"
	sleep := w.consumer("sleep", declared)
	w.create(w.provider("db-endpoint", "db.tengu.io"), sleep)
	w.becomes("db-endpoint", "Complete")
	first := w.relations()["db-endpoint"].State.ID
	w.change(sleep, func() { delete(sleep.Spec.Template.Annotations, application.KeyRelations) })
	w.eventually("it ends", func() bool { return w.relations()["db-endpoint"].Name == "" })
	w.change(sleep, func() { sleep.Spec.Template.Annotations[application.KeyRelations] = "db-endpoint" })
	w.becomes("db-endpoint", "Complete")
	assert.Greater(t, w.relations()["db-endpoint"].State.ID, first, "an id is never used again (SAFETY.md D10)")
}

func (w *controllerWorld) manual(requirer, provider string) *v1alpha1.Relation {
	return &v1alpha1.Relation{ObjectMeta: w.meta("by-hand"), Spec: v1alpha1.RelationSpec{
		Requirer: v1alpha1.RelationEnd{Application: requirer, Endpoint: "db"}, Provider: v1alpha1.RelationEnd{Application: provider, Endpoint: "db"}, Interface: "db",
	}}
}

func TestControllerKeepsRelationsMadeByHand(t *testing.T) {
	w := newControllerWorld(t)
	w.controller(-1)
	w.create(w.provider("db-endpoint", "db.tengu.io"), w.consumer("sleep", map[string]string{application.KeyConsumes: "db"}))
	w.eventually("it names the candidates (SAFETY.md I22)", func() bool {
		for _, waiting := range w.app("sleep").Status.Waits {
			return assert.Contains(t, waiting.Message, "db=db-endpoint:db")
		}
		return false
	})
	r := w.manual("sleep", "db-endpoint")
	w.create(r)
	w.becomes("db-endpoint", "Complete")
	made := w.relations()["db-endpoint"]
	assert.Equal(t, v1alpha1.OriginManual, made.Spec.Origin)
	assert.Contains(t, made.Finalizers, v1alpha1.Finalizer)
	assert.NotZero(t, made.State.ID)

	before := client.MergeFrom(made.DeepCopy())
	made.Spec.Provider.Application = "another"
	err := w.admin.Patch(w.ctx, &made, before)
	require.True(t, apierrors.IsInvalid(err), "SAFETY.md C3: %v", err)
	assert.ErrorContains(t, err, "delete it and make another")
	astray := w.manual("sleep", "db-endpoint")
	astray.Name, astray.Spec.Requirer.Namespace = "astray", "bank"
	require.True(t, apierrors.IsInvalid(w.admin.Create(w.ctx, astray)), "SAFETY.md M7: a relation lives with its requirer")

	require.NoError(t, w.admin.Delete(w.ctx, r))
	w.eventually("deleting it ends it", func() bool { return w.relations()["db-endpoint"].Name == "" })
}

// SAFETY.md C1: every kind says Ready, Reconciling and Stalled, of which
// generation, from the first status that is written; watched from the start. A
// Databag that can be read has no status, and its first write is one request.
func TestControllerConditionsFromTheFirstWrite(t *testing.T) {
	w := newControllerWorld(t)
	watching, err := client.NewWithWatch(w.cluster.Config(t), client.Options{Scheme: w.scheme})
	require.NoError(t, err)
	type written struct {
		kind     string
		metadata metav1.ObjectMeta
		status   struct {
			ObservedGeneration int64
			Conditions         []metav1.Condition
		}
	}
	states := make(chan written, 1000)
	for _, list := range []client.ObjectList{&v1alpha1.RelationList{}, &v1alpha1.RelatedApplicationList{}, &v1alpha1.DatabagList{}} {
		watch, err := watching.Watch(w.ctx, list, client.InNamespace(w.namespace))
		require.NoError(t, err)
		t.Cleanup(watch.Stop)
		go func() {
			for event := range watch.ResultChan() {
				var o struct {
					Metadata      metav1.ObjectMeta
					State, Status map[string]any
				}
				state := written{kind: fmt.Sprintf("%T", event.Object)}
				_, bag := event.Object.(*v1alpha1.Databag)
				if roundTripJSON(event.Object, &o) == nil && (len(o.Status) > 0 || bag) && roundTripJSON(o.Status, &state.status) == nil {
					state.metadata = o.Metadata
					states <- state
				}
			}
		}()
	}
	w.controller(-1)
	w.create(w.consumer("sleep", consumes("db", "db-endpoint")), w.provider("db-endpoint", "db.tengu.io"))
	w.becomes("db-endpoint", "Complete")
	kinds := map[string]bool{}
	for len(kinds) < 3 {
		select {
		case o := <-states:
			kinds[o.kind] = true
			assert.Empty(t, o.metadata.Labels, "SAFETY.md C2")
			assert.Empty(t, o.metadata.Annotations, "SAFETY.md C2")
			if o.kind == "*v1alpha1.Databag" {
				assert.Empty(t, o.status)
				assert.EqualValues(t, 1, o.metadata.Generation)
				continue
			}
			for _, condition := range []string{"Ready", "Reconciling", "Stalled"} {
				assert.NotEmpty(t, reason(o.status.Conditions, condition), "%s says %s", o.kind, condition)
			}
			assert.NotZero(t, o.status.ObservedGeneration, o.kind)
		case <-time.After(soon):
			require.Failf(t, "not all kinds were written", "%v", kinds)
		}
	}
}

// SAFETY.md D12: a provider's change costs one write, however many consume it.
func TestControllerWritesAChangeOnce(t *testing.T) {
	w := newControllerWorld(t)
	w.controller(-1)
	db := w.provider("db-endpoint", "db.tengu.io")
	w.create(db)
	const consumers = 20
	for i := range consumers {
		d := w.consumer("c"+string(rune('a'+i)), consumes("db", "db-endpoint"))
		d.Spec.Replicas = new(int32)
		w.create(d)
	}
	w.eventually("all are related", func() bool { return w.count(&v1alpha1.RelationList{}) == consumers && w.settled() })
	before := w.versions()
	w.change(db, func() { db.Spec.ExternalName = "db2.tengu.io" })
	w.eventually("the bag follows", func() bool { return w.bag("db-endpoint").State.Data["host"] == "db2.tengu.io" })
	w.marker("once")
	var changed []string
	for name, version := range w.versions() {
		if before[name] != version {
			changed = append(changed, name)
		}
	}
	bag := w.bag("db-endpoint")
	assert.Equal(t, []string{"*v1alpha1.DatabagList/" + bag.Name}, changed)
	assert.EqualValues(t, 2, bag.Generation, "its first write and this one")
	assert.Empty(t, bag.Status)
	assert.Len(t, w.versions(), len(before))
}

func (w *controllerWorld) count(list client.ObjectList) int {
	require.NoError(w.t, w.admin.List(w.ctx, list, client.InNamespace(w.namespace)))
	var items struct {
		Items []metav1.PartialObjectMetadata
	}
	require.NoError(w.t, roundTripJSON(list, &items))
	return len(items.Items)
}

// settled tells whether every relation and application is ready.
func (w *controllerWorld) settled() bool {
	var relations v1alpha1.RelationList
	var apps v1alpha1.RelatedApplicationList
	require.NoError(w.t, w.admin.List(w.ctx, &relations, client.InNamespace(w.namespace)))
	require.NoError(w.t, w.admin.List(w.ctx, &apps, client.InNamespace(w.namespace)))
	for _, r := range relations.Items {
		if works(reason(r.Status.Conditions, "Ready")) != "Complete" {
			return false
		}
	}
	for _, a := range apps.Items {
		if reason(a.Status.Conditions, "Ready") != "Complete" {
			return false
		}
	}
	return len(relations.Items) > 0
}

// A restart looks at all again and writes nothing.
func TestControllerRestartWritesNothing(t *testing.T) {
	w := newControllerWorld(t)
	first := w.controller(-1)
	declared := consumes("sse,db", "sse-endpoint,db-endpoint")
	declared[application.KeyOnChange] = "restart"
	w.create(w.provider("db-endpoint", "db.tengu.io"), w.provider("sse-endpoint", "sse.tengu.io"), w.consumer("sleep", declared))
	w.eventually("settled", func() bool {
		a := w.app("sleep")
		return len(w.relations()) == 2 && w.settled() && len(a.State.Units) == 1 && a.State.Restarts != nil && len(a.State.Restarts.Versions) == 2
	})
	w.marker("before")
	first.stop()
	before := w.versions()
	w.controller(-1)
	w.marker("after")
	assert.Equal(t, before, w.versions())
}

// SAFETY.md L8 on the real API and with the real Deployment controller: one
// change of data is one change of the template.
func TestControllerRestartsOnceAChange(t *testing.T) {
	w := newControllerWorld(t)
	w.controller(-1)
	declared := consumes("db", "db-endpoint")
	declared[application.KeyOnChange] = "restart"
	db, sleep := w.provider("db-endpoint", "db.tengu.io"), w.consumer("sleep", declared)
	w.create(db, sleep)
	w.eventually("the first data is known", func() bool {
		a := w.app("sleep")
		return a.State.Restarts != nil && len(a.State.Restarts.Versions) == 1
	})
	template := func() (string, int64) {
		var d appsv1.Deployment
		require.NoError(t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(sleep), &d))
		return d.Spec.Template.Annotations[application.KeyDataVersion], d.Generation
	}
	version, generation := template()
	assert.Empty(t, version, "the first data is no change")

	w.change(db, func() { db.Spec.ExternalName = "db2.tengu.io" })
	w.eventually("a rollout", func() bool { _, g := template(); return g == generation+1 })
	w.eventually("is recorded", func() bool { return len(w.app("sleep").State.Restarts.Times) == 1 })
	w.marker("once")
	_, now := template()
	assert.Equal(t, generation+1, now, "exactly once")

	t.Log("the next change waits: at most one in five minutes")
	w.change(db, func() { db.Spec.ExternalName = "db3.tengu.io" })
	w.eventually("the bag follows at once", func() bool { return w.bag("db-endpoint").State.Data["host"] == "db3.tengu.io" })
	w.marker("twice")
	_, now = template()
	assert.Equal(t, generation+1, now)
	w.eventually("a person can see it", func() bool { return w.hasEvent("Restarted") })
}

// Six rollouts in an hour are the most: the next change waits and says so, and is one
// rollout when an hour has passed since the first (SAFETY.md L8).
func TestControllerPausesRestarts(t *testing.T) {
	w := newControllerWorld(t)
	w.controller(-1)
	declared := consumes("db", "db-endpoint")
	declared[application.KeyOnChange] = "restart"
	db, sleep := w.provider("db-endpoint", "db.tengu.io"), w.consumer("sleep", declared)
	sleep.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType // no pod becomes ready without a node
	w.create(db, sleep)
	restarts := func() int {
		if r := w.app("sleep").State.Restarts; r != nil && len(r.Versions) == 1 {
			return len(r.Times)
		}
		return -1
	}
	w.eventually("the first data is known", func() bool { return restarts() == 0 })
	rolledOut := func(generation int64) bool {
		var d appsv1.Deployment
		require.NoError(t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(sleep), &d))
		return d.Generation == generation && d.Status.ObservedGeneration == generation && d.Status.UpdatedReplicas == 1 && d.Status.Replicas == 1
	}
	const begun = 1
	for i := 1; i <= 6; i++ {
		w.change(db, func() { db.Spec.ExternalName = fmt.Sprintf("db%d.tengu.io", i) })
		w.eventually(fmt.Sprintf("rollout %d is recorded", i), func() bool { return restarts() == i })
		w.eventually(fmt.Sprintf("rollout %d is over", i), func() bool { return rolledOut(begun + int64(i)) })
		w.ahead.Add(int64(6 * time.Minute))
	}

	w.change(db, func() { db.Spec.ExternalName = "db7.tengu.io" })
	w.eventually("it is paused", func() bool { return reason(w.app("sleep").Status.Conditions, "RestartsPaused") == "TooManyRestarts" })
	app := w.app("sleep")
	paused := meta.FindStatusCondition(app.Status.Conditions, "RestartsPaused")
	assert.Equal(t, "data changed more than 6 times within an hour: the next restart waits, files are up to date", paused.Message)
	assert.Equal(t, "db7.tengu.io", w.bag("db-endpoint").State.Data["host"], "files are")
	w.marker("paused")
	assert.True(t, rolledOut(begun+6))

	w.ahead.Add(int64(25 * time.Minute))
	w.change(db, func() { db.Annotations = map[string]string{"note": "the controller looks again"} })
	w.eventually("a later hour has room", func() bool { return rolledOut(begun + 7) })
	w.eventually("nothing is paused", func() bool { return reason(w.app("sleep").Status.Conditions, "RestartsPaused") == "" })
}

// hasEvent tells whether kubectl describe would show an Event of that reason.
func (w *controllerWorld) hasEvent(reason string) bool {
	var list corev1.EventList
	require.NoError(w.t, w.admin.List(w.ctx, &list, client.InNamespace(w.namespace)))
	for i := range list.Items {
		if list.Items[i].Reason == reason && list.Items[i].InvolvedObject.UID != "" {
			return true
		}
	}
	return false
}

// What goes wrong is told where a person looks.
func TestControllerTellsPeople(t *testing.T) {
	w := newControllerWorld(t)
	c := w.controller(-1)
	peer := func(name, other string) *appsv1.Deployment {
		declared := consumes("from-"+other+":data", "from-"+other+"="+other+":data")
		declared[application.KeyProvides] = "data" // which code gives, once it runs
		return w.consumer(name, declared)
	}
	w.create(peer("chicken", "egg"), peer("egg", "chicken"))
	for _, name := range []string{"chicken", "egg"} {
		w.eventually("SAFETY.md I17: the cycle is named on "+name, func() bool { return reason(w.app(name).Status.Conditions, "GateCycle") != "" })
	}
	w.eventually("and in Events", func() bool { return w.hasEvent("GateCycle") })

	t.Log("SAFETY.md A1: who takes no part hears why, although nobody refers to it")
	w.create(w.consumer("web", consumes("db", "db-endpoint")))
	w.eventually("the name is taken", func() bool { return w.app("web").Name != "" })
	later := w.provider("web", "web.tengu.io")
	w.create(later)
	w.eventually("it is on the record of the name", func() bool { return reason(w.app("web").Status.Conditions, "LeftOut") == "NameTaken" })
	w.eventually("and in Events of the object", func() bool { return w.hasEvent("NameTaken") })
	assert.Contains(t, w.cluster.Kubectl(t, "-n", w.namespace, "describe", "service", "web"), "the name web belongs to Deployment web; rename one of them")

	t.Log("SAFETY.md A1: so do the pods of a workload whose name is taken, and their agents")
	twin := &appsv1.StatefulSet{ObjectMeta: w.meta("web")}
	twin.Spec.Template = w.consumer("web", consumes("db", "db-endpoint")).Spec.Template
	twin.Spec.Selector = &metav1.LabelSelector{MatchLabels: twin.Spec.Template.Labels}
	w.create(twin)
	pod := &corev1.Pod{ObjectMeta: w.meta("web-0")}
	w.eventually("its pod", func() bool { return w.admin.Get(w.ctx, client.ObjectKeyFromObject(pod), pod) == nil })
	const why = "StatefulSet web exists but is ignored: the name web belongs to Deployment web"
	w.eventually("an Event on the pod", func() bool {
		return strings.Contains(w.cluster.Kubectl(t, "-n", w.namespace, "describe", "pod", "web-0"), why)
	})
	assert.Contains(t, w.cluster.Kubectl(t, "-n", w.namespace, "describe", "statefulset", "web"), why)
	agent := w.agent(c, w.token(pod, "relations.tengu.io"))
	hears(t, agent, "why it waits", func(s *wire.Snapshot) bool { return strings.Contains(s.GetUnit().GetIgnored(), why) })

	bare := w.consumer("late", consumes("db", "db-endpoint"))
	bare.Spec.Template.Spec.InitContainers = nil
	w.create(bare)
	w.eventually("INJECTION.md I1: a pod without an agent is named", func() bool { return reason(w.app("late").Status.Conditions, "NotInjected") != "" })
	w.eventually("and in Events", func() bool { return w.hasEvent("NoAgent") })
	assert.Contains(t, w.cluster.Kubectl(t, "-n", w.namespace, "describe", "deployment", "late"), "kubectl rollout restart deployment/late -n "+w.namespace, "with the cure")
}

// RELATIONS.md M4: peer relations come of themselves, and nobody makes one.
func TestControllerRelatesPeers(t *testing.T) {
	w := newControllerWorld(t)
	w.controller(-1)
	w.create(w.consumer("ring", map[string]string{application.KeyPeers: "members:gossip"}))
	w.becomes("ring", "Complete")
	r := w.relations()["ring"]
	assert.Equal(t, "ring:members", r.Status.Requirer)
	assert.Equal(t, r.Status.Requirer, r.Status.Provider)
	require.NoError(t, w.admin.Delete(w.ctx, &r))
	w.eventually("removed by hand, it comes again", func() bool {
		again, there := w.relations()["ring"]
		return there && again.UID != r.UID && again.State.ID > r.State.ID
	})
	end := v1alpha1.RelationEnd{Application: "ring", Endpoint: "members"}
	byHand := &v1alpha1.Relation{ObjectMeta: w.meta("by-hand"), Spec: v1alpha1.RelationSpec{Requirer: end, Provider: end, Interface: "gossip"}}
	require.ErrorContains(t, w.admin.Create(w.ctx, byHand), "peer relations are created from tengu.io/peers alone")
}

func TestControllerNamespaceLabelRemoved(t *testing.T) {
	w := newControllerWorld(t)
	w.controller(-1)
	w.create(w.provider("db-endpoint", "db.tengu.io"), w.consumer("sleep", consumes("db", "db-endpoint")))
	w.becomes("db-endpoint", "Complete")
	before := w.relations()["db-endpoint"]
	w.optOut()
	w.eventually("held, not ended", func() bool { return w.relations()["db-endpoint"].Status.HoldTime != nil })
	w.optIn()
	w.becomes("db-endpoint", "Complete")
	assert.Equal(t, before.UID, w.relations()["db-endpoint"].UID)
	w.eventually("its units live", func() bool {
		for _, u := range w.app("sleep").State.Units {
			return u.DepartureReason == ""
		}
		return false
	})
}

// SAFETY.md L5: a deleted namespace ends its relations; no finalizer holds it.
func TestControllerNamespaceDeleted(t *testing.T) {
	w := newControllerWorld(t)
	w.controller(-1)
	w.create(w.provider("db-endpoint", "db.tengu.io"), w.consumer("sleep", consumes("db", "db-endpoint")))
	w.becomes("db-endpoint", "Complete")
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	require.NoError(t, w.admin.Delete(w.ctx, ns))
	began := time.Now()
	controlplane.Eventually(t, func() bool {
		return apierrors.IsNotFound(w.admin.Get(w.ctx, client.ObjectKeyFromObject(ns), ns))
	}, 2*soon)
	t.Logf("the namespace was gone after %s", time.Since(began).Round(time.Millisecond))
}
