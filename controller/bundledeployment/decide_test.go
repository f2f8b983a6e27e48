package bundledeployment

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// approve creates an Approval of a plan.
func (w *world) approve(name, deployment, digest string) {
	w.t.Helper()
	a := &v1alpha1.Approval{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	a.Spec.Deployment, a.Spec.PlanDigest, a.Spec.Author = deployment, digest, "eve"
	require.NoError(w.t, w.client.Create(w.t.Context(), a))
}

// A plan waits for an Approval of its own; nothing is written before. Another plan needs another
// one, and its reason says why the first is not enough.
func TestApproval(t *testing.T) {
	w := newWorld(t, configMaps("a"), func(d *v1alpha1.BundleDeployment) { d.Spec.Approval.Mode = string(domain.ByDigest) })
	r := w.leader()
	w.reconcile(r)
	assert.Equal(t, string(domain.Unapproved), w.ready().Reason)
	assert.Contains(t, w.ready().Message, "To approve it: orcon approve shop -n shop")
	first := w.deployment().Status.Plan
	require.NotNil(t, first)
	w.approve("other", "other", first.Digest)
	w.approve("stale", "shop", strings.Repeat("0", 64))
	w.reconcile(r)
	assert.Equal(t, string(domain.Unapproved), w.ready().Reason, "they are about something else")

	w.source["all.yaml"] = configMaps("a", "b")
	w.pass(r.Resync)
	w.reconcile(r)
	assert.Equal(t, "PlanChanged", w.ready().Reason)
	second := w.deployment().Status.Plan
	require.NotEqual(t, first.Digest, second.Digest)
	w.approve("late", "shop", first.Digest)
	w.reconcile(r)
	assert.Zero(t, w.writes)

	w.approve("right", "shop", second.Digest)
	w.run(r, "Healthy")
	assert.Equal(t, "ConfigMap/a ConfigMap/b", w.names())
	assert.Nil(t, w.deployment().Status.Plan)
}

// A content that has failed is tried again once for each value of the annotation.
func TestRetry(t *testing.T) {
	w := newWorld(t, web)
	w.sick = "Deployment"
	r := w.leader()
	w.run(r, "Failed")
	retry := func(value string) {
		w.edit(func(d *v1alpha1.BundleDeployment) { d.Annotations = map[string]string{v1alpha1.RetryKey: value} })
		w.reconcile(r)
		w.run(r, "Failed")
		for range 3 {
			w.pass(w.reconcile(r).RequeueAfter)
		}
	}
	assert.Equal(t, 1, w.record.Last().Number)
	retry("1")
	assert.Equal(t, 2, w.record.Last().Number, "once")
	assert.Equal(t, "1", w.deployment().Status.LastRetry)
	retry("2")
	assert.Equal(t, 3, w.record.Last().Number)
}

// The content that failed before the last healthy one is named with the revision in which it did.
func TestQuarantineNamesTheRevision(t *testing.T) {
	w := newWorld(t, configMaps("a"))
	r := w.leader()
	w.run(r, "Healthy")
	w.source["all.yaml"], w.sick = web, "Deployment"
	w.pass(r.Resync)
	w.run(r, "Quarantined")
	w.reconcile(r)
	assert.Contains(t, w.messages(), "this content failed before (revision 2: Deployment shop/web: no progress")
	assert.Contains(t, w.messages(), "kubectl annotate bd shop -n shop")
}

// What a person must know is an Event, once: that the deployment is ready, that it is not, and what
// others have changed.
func TestEvents(t *testing.T) {
	w := newWorld(t, configMaps("a"))
	r := w.leader()
	w.run(r, "Healthy")
	w.reconcile(r)
	healthy := slices.DeleteFunc(w.news(), func(e string) bool { return !strings.HasPrefix(e, "Normal Healthy") })
	assert.Len(t, healthy, 1)
	delete(w.objects, domain.ID{Kind: "ConfigMap", Namespace: "shop", Name: "a"})
	w.reconcile(r)
	assert.Contains(t, strings.Join(w.news(), "\n"), "Normal Corrected ConfigMap shop/a")
	w.unloadable = errors.New("the API server is restarting")
	w.reconcile(r)
	w.reconcile(r)
	assert.Equal(t, []string{"Warning StoreFailed the API server is restarting"}, w.news())
}

// Contents that were pending have their deployment reconciled when they are there.
func TestPendingContents(t *testing.T) {
	w := newWorld(t, configMaps("a"))
	w.fetch = make(chan struct{})
	r := w.leader()
	enqueued := make(chan types.NamespacedName, 1)
	r.enqueue = func(name types.NamespacedName, after time.Duration) {
		assert.Zero(t, after)
		enqueued <- name
	}
	w.reconcile(r)
	close(w.fetch)
	assert.Equal(t, shop, <-enqueued)
	w.run(r, "Healthy")
	assert.Equal(t, 1, w.fetches)
}

// A deployment waits until each one that it depends on is ready in its newest generation.
func TestDependencies(t *testing.T) {
	w := newWorld(t, configMaps("a"), func(d *v1alpha1.BundleDeployment) { d.Spec.DependsOn = []string{"base"} })
	r := w.leader()
	w.reconcile(r)
	assert.Equal(t, "DependencyMissing", w.ready().Reason)
	base := &v1alpha1.BundleDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "base", Generation: 2}}
	base.Spec.DependsOn = []string{"shop"}
	require.NoError(t, w.client.Create(t.Context(), base))
	w.reconcile(r)
	assert.Equal(t, "DependencyCycle", w.ready().Reason)
	base.Spec.DependsOn = nil
	require.NoError(t, w.client.Update(t.Context(), base))
	ready := func(status metav1.ConditionStatus, generation int64) {
		base.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: status, ObservedGeneration: generation, Reason: "Test"}}
		require.NoError(t, w.client.Status().Update(t.Context(), base))
		w.reconcile(r)
	}
	ready(metav1.ConditionFalse, 2)
	assert.Equal(t, "DependencyNotReady", w.ready().Reason)
	ready(metav1.ConditionTrue, 1)
	assert.Equal(t, "DependencyNotReady", w.ready().Reason, "it was ready before its last change")
	assert.Zero(t, w.writes)
	ready(metav1.ConditionTrue, 2)
	w.run(r, "Healthy")
}

// What content is made of, and what it needs, is named where it is missing; nothing is written.
func TestMissingInputs(t *testing.T) {
	missing := errors.New("Secret shop/settings does not exist")
	tests := map[string]struct {
		why    string
		change func(*v1alpha1.BundleDeployment)
		world  func(*world)
		reason string
		want   string
	}{
		"Values": {
			why: "the content would mean something else without them", reason: "ValuesMissing", want: "spec.render.valuesFrom[0]: " + missing.Error(),
			change: func(d *v1alpha1.BundleDeployment) {
				d.Spec.Render.ValuesFrom = []v1alpha1.BundleValues{{Kind: "Secret", Name: "settings"}}
			},
			world: func(w *world) { w.missing = missing },
		},
		"Credentials": {
			why: "a fetch without them gets another answer", reason: "FetchFailed", want: "spec.sources[0].auth.secretRef: " + missing.Error(),
			change: func(d *v1alpha1.BundleDeployment) {
				d.Spec.Sources[0].Reference = "oci://registry.example.org/shop@sha256:" + strings.Repeat("0", 64)
				d.Spec.Sources[0].Auth = &v1alpha1.BundleAuth{SecretRef: v1alpha1.BundleSecretRef{Name: "settings"}}
			},
			world: func(w *world) { w.missing = missing },
		},
		"Reference": {
			why: "there is nothing to fetch", reason: "InvalidSpec", want: "nowhere",
			change: func(d *v1alpha1.BundleDeployment) { d.Spec.Sources[0].Reference = "nowhere:x" },
		},
		"Manifest": {
			why: "half a bundle is not applied", reason: "RenderFailed", want: "all.yaml",
			world: func(w *world) { w.source["all.yaml"] = "kind: [" },
		},
		"Twice": {
			why: "one of the two would win by chance", reason: "RenderFailed", want: "ConfigMap",
			world: func(w *world) { w.source["all.yaml"] = configMaps("a", "a") },
		},
		"Lacks": {
			why: "its pods would never start", reason: "ConfigurationMissing", want: "settings",
			world: func(w *world) {
				w.lacks = []domain.Lack{{ID: domain.ID{Kind: "Secret", Namespace: "shop", Name: "settings"}, Keys: []string{"token"}}}
			},
		},
		"LacksUnread": {
			why: "it may be missing", reason: "PlanFailed", want: missing.Error(),
			world: func(w *world) { w.missing = missing },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, configMaps("a"))
			if test.change != nil {
				w.edit(test.change)
			}
			if test.world != nil {
				test.world(w)
			}
			w.reconcile(w.leader())
			assert.Equal(t, test.reason, w.ready().Reason, test.why)
			assert.Contains(t, w.messages(), test.want, test.why)
			assert.Zero(t, w.writes, test.why)
		})
	}
}

// A cluster that no client can be made for is an error of the reconcile.
func TestUnconnected(t *testing.T) {
	w := newWorld(t, configMaps("a"))
	r, unconnected := w.leader(), errors.New("no such host")
	r.Connect = func(Access) (World, Store, error) { return nil, nil, unconnected }
	_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: shop})
	require.ErrorIs(t, err, unconnected)
}

// The controller reconciles what people change, and not what it writes itself.
func TestChangesByPeople(t *testing.T) {
	tests := map[string]struct {
		why    string
		change func(*v1alpha1.BundleDeployment)
		want   bool
	}{
		"Status":     {why: "the controller wrote it", change: func(d *v1alpha1.BundleDeployment) { d.Status.Objects = 3 }},
		"Spec":       {why: "a person did", change: func(d *v1alpha1.BundleDeployment) { d.Generation++ }, want: true},
		"Deletion":   {why: "it begins", change: func(d *v1alpha1.BundleDeployment) { d.DeletionTimestamp = &metav1.Time{Time: time.Now()} }, want: true},
		"Annotation": {why: "it may ask for a retry", change: func(d *v1alpha1.BundleDeployment) { d.Annotations = map[string]string{"a": "b"} }, want: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before := &v1alpha1.BundleDeployment{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
			after := before.DeepCopy()
			test.change(after)
			assert.Equal(t, test.want, changed().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}), test.why)
		})
	}
}

// cached is a cache with the deployments of a world.
type cached struct {
	cache.Cache

	client client.Client
}

func (c cached) List(ctx context.Context, l client.ObjectList, options ...client.ListOption) error {
	return c.client.List(ctx, l, options...)
}

// A deployment that becomes ready has those reconciled that wait for it, and an Approval the one
// that it is about.
func TestWaitersAreEnqueued(t *testing.T) {
	w := newWorld(t, configMaps("a"), func(d *v1alpha1.BundleDeployment) { d.Spec.DependsOn = []string{"base"} })
	r, base := w.leader(), &v1alpha1.BundleDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "base"}}
	here, elsewhere := cached{client: w.client}, base.DeepCopy()
	elsewhere.Namespace = "other"
	assert.Equal(t, []reconcile.Request{{NamespacedName: shop}}, r.dependents(t.Context(), here, base))
	assert.Empty(t, r.dependents(t.Context(), here, elsewhere))
	assert.Empty(t, r.dependents(t.Context(), here, w.deployment()))

	ready := base.DeepCopy()
	ready.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}
	p := readiness()
	assert.True(t, p.Update(event.UpdateEvent{ObjectOld: base, ObjectNew: ready}))
	assert.False(t, p.Update(event.UpdateEvent{ObjectOld: ready, ObjectNew: ready}))
	assert.False(t, p.Update(event.UpdateEvent{ObjectOld: ready, ObjectNew: base}))
	assert.False(t, p.Create(event.CreateEvent{Object: ready}))

	a := &v1alpha1.Approval{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "x"}, Spec: v1alpha1.ApprovalSpec{Deployment: "shop"}}
	assert.Equal(t, []reconcile.Request{{NamespacedName: shop}}, approved(t.Context(), a))
	assert.Empty(t, approved(t.Context(), base))
}

// A cluster that cannot be looked at gives no plan, and says why.
func TestUnplannable(t *testing.T) {
	w := newWorld(t, configMaps("a"))
	w.unreadable = errors.New("cannot read ConfigMap shop/a: the server does not answer")
	r := w.leader()
	assert.Equal(t, failed, w.reconcile(r).RequeueAfter)
	assert.Equal(t, "PlanFailed", w.ready().Reason)
	assert.Contains(t, w.messages(), "the server does not answer")
	assert.Zero(t, w.record.Last().Number)
	w.unreadable = nil
	w.run(r, "Healthy")
}

// Of a record that a person has deleted the BundleRevisions go too, and the bundle is deployed anew.
func TestRecordThatIsGone(t *testing.T) {
	w := newWorld(t, configMaps("a"))
	w.run(w.leader(), "Healthy")
	first := w.revisions()
	require.Len(t, first, 1)
	w.record, w.plans, w.source["all.yaml"] = domain.Record{}, map[int]domain.Plan{}, configMaps("b")
	r := w.leader()
	w.run(r, "Healthy")
	w.reconcile(r)
	assert.Equal(t, "Healthy", w.ready().Reason)
	second := w.revisions()
	require.Len(t, second, 1)
	assert.NotEqual(t, first[0].Spec.PlanDigest, second[0].Spec.PlanDigest)
	assert.Equal(t, w.record.Last().PlanDigest, second[0].Spec.PlanDigest)
}

// A deletion is looked at each second while it is fresh, then less often, and is stuck after a
// quarter of an hour.
func TestDeletionThatLasts(t *testing.T) {
	w := newWorld(t, configMaps("a"))
	r := w.leader()
	w.run(r, "Healthy")
	w.held = "ConfigMap"
	require.NoError(t, w.client.Delete(t.Context(), w.deployment()))
	w.reconcile(r)
	assert.Equal(t, time.Second, w.reconcile(r).RequeueAfter)
	assert.Equal(t, "Deleting", w.ready().Reason)
	assert.Contains(t, w.messages(), "a webhook refuses it")
	w.pass(2 * time.Minute)
	assert.Equal(t, unhealthy, w.reconcile(r).RequeueAfter)
	assert.Equal(t, "Deleting", w.ready().Reason)
	w.pass(longDeletion)
	w.reconcile(r)
	assert.Equal(t, "DeletionStuck", w.ready().Reason)
	assert.Contains(t, w.messages(), "not everything is deleted after 15m0s")
}
