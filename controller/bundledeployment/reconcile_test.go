package bundledeployment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content/render"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// A reconcile ends within seconds, however much there is to write, and the next goes on.
func TestReconcileIsBounded(t *testing.T) {
	var names []string
	for i := range 500 {
		names = append(names, fmt.Sprint("c", i))
	}
	w := newWorld(t, configMaps(names...))
	w.slow = 50 * time.Millisecond
	r, reconciles := w.leader(), 0
	for w.ready().Reason != "Healthy" {
		began, wrote := w.clock(), w.writes
		result := w.reconcile(r)
		took := w.clock().Sub(began)
		require.Less(t, took, 2*bound, "it wrote %d objects", w.writes-wrote)
		if w.ready().Reason != "Healthy" {
			require.Equal(t, time.Second, result.RequeueAfter, "more can be written at once")
			require.Contains(t, w.ready().Message, fmt.Sprintf("revision 1: %d of 500 objects", min(w.writes, wrote)))
		}
		w.pass(result.RequeueAfter)
		reconciles++
		require.Less(t, reconciles, 20)
	}
	assert.Greater(t, reconciles, 4)
	assert.Equal(t, 500, w.writes, "each once")
}

// A revision fails at its deadline, whichever replicas lead meanwhile; while it waits it is looked
// at less and less often.
func TestDeadlineOutlivesLeaders(t *testing.T) {
	tests := map[string]struct {
		why  string
		life int // reconciles of each leader
	}{
		"One":  {"nobody is killed", 1000},
		"Many": {"each leader is killed after one reconcile", 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, web+configMaps("a"))
			w.sick = "Deployment"
			began, looks := w.clock(), 0
			var r *Reconciler
			for ; w.ready().Reason != "Failed"; looks++ {
				if looks%test.life == 0 {
					r = w.leader()
				}
				w.pass(w.reconcile(r).RequeueAfter)
				require.Less(t, looks, 1000)
			}
			took := w.clock().Sub(began)
			assert.GreaterOrEqual(t, took, 10*time.Minute, test.why)
			assert.Less(t, took, 10*time.Minute+5*time.Second+2*time.Minute, test.why) // the last pause is after the failure
			assert.Less(t, looks, 120, test.why)
			assert.Contains(t, w.ready().Message, "revision 1 failed: Deployment shop/web: no progress for 10m0s")
		})
	}
}

// A leader that is killed on the way back leaves the rest of it to the next, although the failed
// content is in quarantine by then.
func TestWayBackOutlivesLeaders(t *testing.T) {
	w := newWorld(t, configMaps("a"))
	w.run(w.leader(), "Healthy")
	w.source["all.yaml"] = configMaps("b") + web
	w.sick = "Deployment"
	w.dies = func() bool { return w.record.Last().Number == 3 }
	for range 200 {
		result, err := w.leader().Reconcile(t.Context(), reconcile.Request{NamespacedName: shop})
		require.NoError(t, err)
		if w.dies() {
			break
		}
		w.pass(result.RequeueAfter)
	}
	require.Equal(t, domain.StateActive, w.record.Last().State, "it died on the way back")
	require.NotEmpty(t, w.record.Quarantined)
	w.dies = nil
	w.run(w.leader(), "Quarantined")
	assert.Equal(t, domain.StateSucceeded, w.record.Last().State)
	assert.Equal(t, 1, w.record.Last().Content)
	assert.Contains(t, w.names(), "ConfigMap/a")
}

// A deployment that takes fields from others takes them on the way back too: no message could name another cure.
func TestWayBackTakes(t *testing.T) {
	w := newWorld(t, configMaps("a"), func(d *v1alpha1.BundleDeployment) { d.Spec.Conflicts = string(domain.TakeAll) })
	r := w.leader()
	w.run(r, "Healthy")
	w.source["all.yaml"], w.sick, w.contested = configMaps("a")+web, "Deployment", "ConfigMap"
	w.pass(r.Resync)
	w.run(r, "Quarantined")
	assert.Equal(t, domain.StateSucceeded, w.record.Last().State)
	assert.Equal(t, 1, w.record.Last().Content)
	assert.Equal(t, []string{"data.size"}, w.plans[3].Actions[0].Force)
}

// What a person confirms the deletion of stays on the way back, for the next plan, also where the deployment names its kind
// (BUNDLES.md 4).
func TestWayBackConfirms(t *testing.T) {
	w := newWorld(t, configMaps("a"), func(d *v1alpha1.BundleDeployment) { d.Spec.Prune.ConfirmKinds = []string{"ConfigMap"} })
	r := w.leader()
	w.run(r, "Healthy")
	w.source["all.yaml"], w.sick = configMaps("a", "b")+web, "Deployment"
	w.pass(r.Resync)
	w.run(r, "Quarantined")
	assert.Equal(t, 1, w.record.Last().Content)
	w.sick = ""
	for range 3 {
		w.pass(w.reconcile(r).RequeueAfter)
	}
	assert.Equal(t, "ConfigMap/a ConfigMap/b", w.names())
	w.source["all.yaml"] = configMaps("a", "c")
	w.pass(r.Resync)
	w.run(r, string(domain.Confirm))
	assert.Contains(t, w.messages(), "ConfigMap shop/b")
}

// A look that takes longer than a reconcile has is followed by writes all the same.
func TestSlowLook(t *testing.T) {
	w := newWorld(t, configMaps("a", "b"))
	w.look = 2 * bound
	w.run(w.leader(), "Healthy")
	assert.Equal(t, 2, w.writes)
}

// A run goes on, to its end or its deadline, while a deployment that it depends on is not ready.
func TestRunOutlivesItsDependency(t *testing.T) {
	w := newWorld(t, web)
	w.sick = "Deployment"
	r := w.leader()
	w.run(r, string(domain.Progressing))
	w.edit(func(d *v1alpha1.BundleDeployment) { d.Spec.DependsOn = []string{"base"} })
	w.reconcile(r)
	assert.Equal(t, "DependencyMissing", w.ready().Reason)
	w.sick = ""
	w.reconcile(r)
	assert.Equal(t, domain.StateSucceeded, w.record.Last().State)
}

// A run of an earlier generation is not taken for the newest while that is fetched.
func TestRunOfAnEarlierGeneration(t *testing.T) {
	w := newWorld(t, web)
	w.sick = "Deployment"
	r := w.leader()
	w.run(r, string(domain.Progressing))
	w.sick, w.fetch = "", make(chan struct{})
	defer close(w.fetch)
	w.edit(func(d *v1alpha1.BundleDeployment) { d.Spec.Sources[0].Reference = "configmaps:other" })
	w.reconcile(r)
	assert.Equal(t, domain.StateSucceeded, w.record.Last().State)
	assert.Equal(t, "Fetching", w.ready().Reason)
	assert.Equal(t, metav1.ConditionFalse, w.ready().Status)
}

// A revision that could not be published is not taken for a forged one.
func TestUnpublishedIsNotForged(t *testing.T) {
	w := newWorld(t, configMaps("a"))
	w.unpublished = errors.New("the API server is restarting")
	r := w.leader()
	_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: shop})
	require.Error(t, err)
	w.reconcile(r)
	assert.Equal(t, "Healthy", w.ready().Reason)
}

// A deployment whose record cannot be removed stays until it can.
func TestRecordThatStays(t *testing.T) {
	w := newWorld(t, configMaps("a"))
	r := w.leader()
	w.run(r, "Healthy")
	w.unremovable = errors.New("the API server is restarting")
	require.NoError(t, w.client.Delete(t.Context(), w.deployment()))
	w.reconcile(r)
	assert.Equal(t, "DeletionStuck", w.ready().Reason)
	w.unremovable = nil
	w.reconcile(r)
	assert.True(t, apierrors.IsNotFound(w.client.Get(t.Context(), shop, &v1alpha1.BundleDeployment{})))
}

// The time of a deletion that is refused runs from the first refusal, and is stored once.
func TestRefusedDeletionKeepsItsTime(t *testing.T) {
	w := newWorld(t, configMaps("a", "b"))
	r := w.leader()
	w.run(r, "Healthy")
	w.held, w.source["all.yaml"] = "ConfigMap", configMaps("a")
	w.pass(2 * time.Minute)
	w.reconcile(r)
	w.pass(time.Second)
	result := w.reconcile(r)
	first := w.record.Rejected
	require.Len(t, first, 1)
	assert.Equal(t, unhealthy, result.RequeueAfter)
	w.pass(time.Minute)
	w.reconcile(r)
	assert.Equal(t, first, w.record.Rejected)
}

// What has begun goes on while its sources do not answer, and they are asked once.
func TestRunOutlivesItsSource(t *testing.T) {
	w := newWorld(t, web+configMaps("a"))
	w.sick = "Deployment"
	w.run(w.leader(), string(domain.Progressing))
	w.sick, w.fetch = "", make(chan struct{})
	defer close(w.fetch)
	w.run(w.leader(), "Healthy")
	assert.Equal(t, 2, w.fetches)
}

// A source that takes long changes nothing that is published before the resync, and is named
// from then on; a newer reference ends its fetch.
func TestSlowSource(t *testing.T) {
	w := newWorld(t, configMaps("a"))
	r := w.leader()
	w.run(r, "Healthy")
	w.fetch = make(chan struct{})
	w.pass(2 * time.Minute)
	assert.Equal(t, time.Second, w.reconcile(r).RequeueAfter)
	assert.Equal(t, "Healthy", w.ready().Reason)
	w.pass(time.Minute)
	assert.Equal(t, unhealthy, w.reconcile(r).RequeueAfter, "it is left alone while it lasts")
	assert.Equal(t, "Healthy", w.ready().Reason)
	w.pass(time.Minute)
	w.reconcile(r)
	assert.Equal(t, "Fetching", w.ready().Reason)
	assert.Contains(t, w.ready().Message, "; revision 1 is kept")

	delete(w.objects, domain.ID{Kind: "ConfigMap", Namespace: "shop", Name: "a"})
	w.reconcile(r)
	assert.Contains(t, w.names(), "ConfigMap/a", "what stands is corrected meanwhile")

	w.fetch = nil
	w.edit(func(d *v1alpha1.BundleDeployment) { d.Spec.Sources[0].Reference = "configmaps:other" })
	w.run(r, "Healthy")
}

// The contents are not fetched again while nothing has to be planned for them, nor rendered again where
// what was fetched is the same.
func TestContentsAreRemembered(t *testing.T) {
	w := newWorld(t, configMaps("a"))
	r := w.leader()
	renders := 0
	r.Contents.Rendering = func(ctx context.Context, in io.Reader, out io.Writer) error {
		renders++
		return content.Worker(render.Output)(ctx, in, out)
	}
	w.run(r, "Healthy")
	assert.Equal(t, 1, w.fetches)
	w.reconcile(r)
	assert.Equal(t, 1, w.fetches, "they are fresh")
	w.pass(2 * time.Minute)
	w.reconcile(r)
	assert.Equal(t, 2, w.fetches, "they are tracked")
	w.edit(func(d *v1alpha1.BundleDeployment) { d.Annotations = map[string]string{"example.org/again": "1"} })
	w.reconcile(r)
	assert.Equal(t, 3, w.fetches, "a person has them fetched")
	assert.Equal(t, 1, renders, "they are the same")
	w.source["all.yaml"] = configMaps("a", "b")
	w.pass(2 * time.Minute)
	w.run(r, "Healthy")
	assert.Equal(t, 4, w.fetches)
	assert.Equal(t, 2, renders)
	assert.Contains(t, w.names(), "ConfigMap/b")
	w.edit(func(d *v1alpha1.BundleDeployment) { d.Spec.Render.InstallNamespace = "other" })
	w.reconcile(r)
	assert.Equal(t, 5, w.fetches, "they mean something else")
}

// A cluster that cannot be read stops a run, and says why, and the run goes on afterwards.
func TestUnreadableCluster(t *testing.T) {
	w := newWorld(t, web)
	w.sick = "Deployment"
	r := w.leader()
	w.run(r, string(domain.Progressing))
	w.unreadable = errors.New("cannot read Deployment shop/web: the conversion webhook does not answer")
	_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: shop})
	require.NoError(t, err)
	assert.Equal(t, "ReadFailed", w.ready().Reason)
	assert.Contains(t, w.ready().Message, "the conversion webhook does not answer")
	w.unreadable, w.sick = nil, ""
	w.run(r, "Healthy")
}

// A healthy revision that cannot be looked at any more is not called healthy once that lasts, since nothing corrects it
// (SAFETY.md C1). What left the bundle and cannot be looked at is named too.
func TestUnreadableHealthyCluster(t *testing.T) {
	unreadable := errors.New("cannot read ConfigMap shop/b: the account may not")
	for name, set := range map[string]func(*world, error){
		"All":  func(w *world, err error) { w.unreadable = err },
		"Left": func(w *world, err error) { w.unpruned = err },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, configMaps("a", "b"))
			r := w.leader()
			w.run(r, "Healthy")
			w.held, w.source["all.yaml"] = "ConfigMap", configMaps("a")
			w.pass(r.Resync)
			w.reconcile(r)
			w.run(r, "Healthy")
			require.Equal(t, 2, w.record.Last().Number)

			set(w, unreadable)
			_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: shop})
			require.ErrorIs(t, err, unreadable)
			assert.Equal(t, "Healthy", w.ready().Reason, "it may pass")
			w.pass(r.Resync)
			_, err = r.Reconcile(t.Context(), reconcile.Request{NamespacedName: shop})
			require.NoError(t, err)
			assert.Equal(t, "ReadFailed", w.ready().Reason)
			assert.Equal(t, metav1.ConditionFalse, w.ready().Status)
			assert.Contains(t, w.ready().Message, unreadable.Error()+"; revision 2 is kept")
			set(w, nil)
			w.run(r, "Healthy")
		})
	}
}

// An approval to delete everything holds until the end, although it expires and although the plan
// grows shorter meanwhile.
func TestRemovalOutlivesItsApproval(t *testing.T) {
	w := newWorld(t, web+configMaps("a"), func(d *v1alpha1.BundleDeployment) { d.Spec.Prune.ConfirmKinds = []string{"ConfigMap"} })
	w.run(w.leader(), "Healthy")
	require.NoError(t, w.client.Delete(t.Context(), w.deployment()))
	w.reconcile(w.leader())
	assert.Equal(t, "Confirm", w.ready().Reason)
	plan := w.deployment().Status.Plan
	require.NotNil(t, plan)
	expires := metav1.NewTime(w.clock().Add(time.Minute))
	require.NoError(t, w.client.Create(t.Context(), &v1alpha1.Approval{
		ObjectMeta: metav1.ObjectMeta{Namespace: shop.Namespace, Name: "yes", CreationTimestamp: metav1.NewTime(w.clock())},
		Spec:       v1alpha1.ApprovalSpec{Deployment: shop.Name, PlanDigest: plan.Digest, Author: "admin", ConfirmedObjects: plan.HeldObjects, ExpirationTime: &expires},
	}))
	w.held = "ConfigMap"
	w.reconcile(w.leader())
	assert.Equal(t, "ConfigMap/a", w.names(), "the other is gone")
	w.pass(time.Hour)
	w.reconcile(w.leader())
	assert.Equal(t, "DeletionStuck", w.ready().Reason)
	assert.Contains(t, w.ready().Message, "ConfigMap shop/a: a webhook refuses it")
	w.held = ""
	for range 3 {
		w.reconcile(w.leader())
	}
	assert.Empty(t, w.names())
	assert.True(t, apierrors.IsNotFound(w.client.Get(t.Context(), shop, &v1alpha1.BundleDeployment{})))
}

// Objects of a version before the label get it, and nothing else happens.
func TestLabelled(t *testing.T) {
	w := newWorld(t, configMaps("a"))
	r := w.leader()
	w.run(r, "Healthy")
	wrote, events := w.writes, len(w.events.Events)
	w.unlabelled = true
	w.reconcile(r)
	assert.Equal(t, wrote+1, w.writes)
	assert.Len(t, w.events.Events, events, "no Event reports it")
	assert.Equal(t, "Healthy", w.ready().Reason)
	assert.Equal(t, 1, w.record.Last().Number)
	w.reconcile(r)
	assert.Equal(t, wrote+1, w.writes, "once")
}

// Parameters give a Template its objects; a changed value is a change of the bundle.
func TestParameters(t *testing.T) {
	const template = "apiVersion: v1\nkind: Template\nparameters: [{name: NAME}]\n" +
		"objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: \"${NAME}\"}}]\n"
	w := newWorld(t, template, func(d *v1alpha1.BundleDeployment) {
		d.Spec.Render.Parameters = map[string]v1alpha1.BundleParameter{"NAME": "a"}
	})
	r := w.leader()
	w.run(r, "Healthy")
	assert.Equal(t, "ConfigMap/a", w.names())
	w.edit(func(d *v1alpha1.BundleDeployment) { d.Spec.Render.Parameters["NAME"] = "b" })
	w.reconcile(r)
	w.run(r, "Healthy")
	assert.Equal(t, "ConfigMap/b", w.names())
	w.edit(func(d *v1alpha1.BundleDeployment) { d.Spec.Render.Parameters["NAMES"] = "c" })
	w.run(r, "RenderFailed")
	assert.Contains(t, w.messages(), "parameter NAMES is unknown: use NAME")
	assert.Equal(t, "ConfigMap/b", w.names(), "nothing changes")
}
