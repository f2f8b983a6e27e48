package removal

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	bundlev1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	fleetv1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// installed returns the parts of Orcon, and objects of others that look like them.
func installed() []client.Object {
	return []client.Object{
		labelled(&rbacv1.ClusterRole{}, "", "relations-controller", "relations-controller"),
		labelled(&rbacv1.ClusterRole{}, "", "orcon-view", ""),
		labelled(&rbacv1.ClusterRoleBinding{}, "", "orcon-job-types", ""),
		labelled(&rbacv1.ClusterRoleBinding{}, "", "relations-controller", "relations-controller"),
		labelled(&corev1.ServiceAccount{}, "orcon-system", "relations-controller", "relations-controller"),
		controller("relations-controller", 2),
		served("v1alpha1.jobs.orcon.tengu.io"),
		labelled(&admissionv1.MutatingWebhookConfiguration{}, "", "relations-mutating-webhook", "relations-mutating-webhook"),
		labelled(&admissionv1.ValidatingAdmissionPolicy{}, "", "orcon-leave", ""),
		labelled(&corev1.Service{}, "orcon-system", "relations-controller", "relations-controller"),
		labelled(&corev1.Secret{}, "shop", "orcon-secrets-0", ""),
		labelled(&corev1.Secret{}, "shop", "mine", ""),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "orcon-trust"}},
		labelled(&corev1.ConfigMap{}, "shop", "orcon-stale-0", ""),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "mine"}},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "mine"}},
		labelled(&corev1.Namespace{}, "", "orcon-system", ""),
		definition("relations"), definition("offers"),
	}
}

// What acts goes first, webhooks before controllers before their accounts; all else stays (TRUST.md T1).
func TestTakePrograms(t *testing.T) {
	w := newWorld(t, installed()...)
	programs, err := Parts{w.Cluster}.Programs(t.Context())
	require.NoError(t, err)
	rest, err := Parts{w.Cluster}.Rest(t.Context())
	require.NoError(t, err)
	require.NoError(t, Parts{w.Cluster}.TakePrograms(t.Context()))
	order := []string{"APIService", "MutatingWebhookConfiguration", "Deployment", "ClusterRoleBinding", "ClusterRole", "ServiceAccount"}
	assert.Equal(t, order, kinds(w.deleted))
	var reported []string
	for _, name := range programs {
		reported = append(reported, "deleted "+name)
	}
	assert.Equal(t, reported, w.reports, "what was shown is what was done")
	left, err := Parts{w.Cluster}.Rest(t.Context())
	require.NoError(t, err)
	assert.Subset(t, rest, left)
	assert.Contains(t, left, "CustomResourceDefinition relations.orcon.tengu.io")
	assert.Contains(t, left, "Namespace orcon-system")
}

// Afterwards nothing of Orcon is left, and all that is others'. Definitions have the word that the policy requires.
func TestTakeRest(t *testing.T) {
	w := newWorld(t, installed()...)
	require.NoError(t, Parts{w.Cluster}.TakePrograms(t.Context()))
	require.NoError(t, Parts{w.Cluster}.TakeRest(t.Context()))
	left, err := Parts{w.Cluster}.Rest(t.Context())
	require.NoError(t, err)
	assert.Empty(t, left)
	var bindings rbacv1.ClusterRoleBindingList
	require.NoError(t, w.client.List(t.Context(), &bindings))
	assert.Empty(t, bindings.Items)
	for _, o := range []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "mine"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "mine"}},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "mine"}},
	} {
		require.NoError(t, w.client.Get(t.Context(), client.ObjectKeyFromObject(o), o), "%T", o)
	}
}

// An object that does not go is named when there is no more time.
func TestTakeWaits(t *testing.T) {
	stuck := definition("relations")
	stuck.Finalizers = []string{"example.org/hold"}
	w := newWorld(t, stuck)
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	err := Parts{w.Cluster}.TakeRest(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "CustomResourceDefinition relations.orcon.tengu.io is still being deleted")
	require.NoError(t, w.client.Get(t.Context(), client.ObjectKeyFromObject(stuck), stuck))
	assert.Equal(t, "end", stuck.Annotations["orcon.tengu.io/leave"])
}

// A Relation that a person deleted while its controller is away leaves the debt that the controller would have written.
// One that goes with its definition owes nothing. What a running controller is about to do is left to it.
func TestRelease(t *testing.T) {
	leaving := definition("relations")
	leaving.Finalizers, leaving.DeletionTimestamp = []string{"customresourcecleanup"}, &metav1.Time{Time: time.Unix(1, 0)}
	tests := map[string]struct {
		why      string
		deleted  bool
		with     []client.Object
		released bool
		owes     []string
	}{
		"Away": {
			why: "a person deleted it", deleted: true,
			with: []client.Object{definition("relations")}, released: true, owes: []string{"vault/4"},
		},
		"Scaled": {
			why: "no pod is ready", deleted: true,
			with: []client.Object{definition("relations"), controller(RelationsController, 0)}, released: true, owes: []string{"vault/4"},
		},
		"Runs": {
			why: "the controller does it", deleted: true,
			with: []client.Object{definition("relations"), controller(RelationsController, 1)},
		},
		"Definition": {
			why: "it has not ended", deleted: true,
			with: []client.Object{leaving}, released: true,
		},
		"Both": {
			why: "the controller keeps it", deleted: true,
			with: []client.Object{leaving, controller(RelationsController, 1)}, released: true,
		},
		"Living": {
			why:  "nobody deleted it",
			with: []client.Object{definition("relations")},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, slices.Concat(related(test.deleted), test.with)...)
			w.lets()
			var left v1alpha1.RelationList
			require.NoError(t, w.client.List(t.Context(), &left))
			assert.Equal(t, test.released, len(left.Items) == 0, test.why)
			var owes []string
			if end := w.side().State.End; end != nil {
				owes = end.PendingUnits
				assert.Equal(t, "Deleted", end.Reason)
			}
			assert.Equal(t, test.owes, owes, test.why)
		})
	}
}

// The same again does no harm, and an answer that came meanwhile stays.
func TestReleaseAfterAnAnswer(t *testing.T) {
	w := newWorld(t, append(related(true), definition("relations"))...)
	held, err := Holds{w.Cluster}.List(t.Context(), time.Unix(2, 0))
	require.NoError(t, err)
	side := w.side()
	side.State.End = &v1alpha1.RelationSideEnd{Time: metav1.Unix(1, 0), Reason: "Deleted", State: v1alpha1.EndHandled}
	require.NoError(t, w.client.Update(t.Context(), side))
	require.NoError(t, Holds{w.Cluster}.Release(t.Context(), held[0]))
	assert.Equal(t, v1alpha1.EndHandled, w.side().State.End.State)
	assert.Empty(t, w.side().State.End.PendingUnits)
}

// What cannot be written is not let go, and the error names it. The side of a later relation of the pair is not touched.
func TestReleaseFails(t *testing.T) {
	tests := map[string]struct {
		why    string
		change func(*world)
		err    string
	}{
		"NoSide": {
			why: "the debt would be lost",
			change: func(w *world) {
				require.NoError(w.t, w.client.Delete(w.t.Context(), w.side()))
			},
			err: "cannot read the side of bank/vault (main, with web.shop:store)",
		},
		"Changed": {
			why: "another has written the Relation since",
			change: func(w *world) {
				var list v1alpha1.RelationList
				require.NoError(w.t, w.client.List(w.t.Context(), &list))
				list.Items[0].Labels = map[string]string{"a": "b"}
				require.NoError(w.t, w.client.Update(w.t.Context(), &list.Items[0]))
			},
			err: "cannot let Relation shop/web-store-",
		},
		"Later": {
			why: "it is of another relation",
			change: func(w *world) {
				side := w.side()
				side.Spec.Relation = "later"
				require.NoError(w.t, w.client.Update(w.t.Context(), side))
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, append(related(true), definition("relations"))...)
			held, err := Holds{w.Cluster}.List(t.Context(), time.Unix(2, 0))
			require.NoError(t, err)
			require.Len(t, held, 1)
			test.change(w)
			err = Holds{w.Cluster}.Release(t.Context(), held[0])
			if test.err != "" {
				require.ErrorContains(t, err, test.err, test.why)
				return
			}
			require.NoError(t, err, test.why)
			assert.Nil(t, w.side().State.End, test.why)
		})
	}
}

// The census has the relations, the sides and the units of all namespaces.
func TestCensus(t *testing.T) {
	w := newWorld(t, related(false)...)
	census, err := w.Census(t.Context())
	require.NoError(t, err)
	require.Len(t, census.Relations, 1)
	assert.Equal(t, key(), census.Relations[0].Key)
	require.Len(t, census.Told(), 1)
	told := census.Told()[0]
	assert.Equal(t, "bank/vault (main, with web.shop:store)", Owing(told))
	assert.False(t, census.Deaf(told))
	assert.Empty(t, census.Owed())
}

// An object that cannot be read is an error: a person would decide without it.
func TestUnreadableObject(t *testing.T) {
	tests := map[string]func(*world){
		"side": func(w *world) {
			side := w.side()
			side.Spec.ID = -1
			require.NoError(w.t, w.client.Update(w.t.Context(), side))
		},
		"application": func(w *world) {
			vault := &v1alpha1.RelatedApplication{}
			require.NoError(w.t, w.client.Get(w.t.Context(), client.ObjectKey{Namespace: "bank", Name: "vault"}, vault))
			vault.State.Units[0].Number = -1
			require.NoError(w.t, w.client.Update(w.t.Context(), vault))
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, related(false)...)
			change(w)
			_, err := w.Census(t.Context())
			require.ErrorContains(t, err, "cannot read")
		})
	}
}

// A controller runs if a pod of it is ready; a Deployment of that name that is not Orcon's does not count.
func TestRuns(t *testing.T) {
	other := controller(RelationsController, 1)
	other.Labels = nil
	tests := map[string]struct {
		with *appsv1.Deployment
		runs bool
	}{
		"Ready":    {controller(RelationsController, 1), true},
		"NotReady": {controller(RelationsController, 0), false},
		"Another":  {controller(BundleController, 1), false},
		"Others":   {other, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, test.with)
			runs, err := w.Runs(t.Context(), RelationsController)
			require.NoError(t, err)
			assert.Equal(t, test.runs, runs)
		})
	}
}

// A BundleDeployment or IntegrationSet that is being deleted waits for the bundle controller.
func TestReleaseBundles(t *testing.T) {
	for name, ready := range map[string]int32{"Away": 0, "Runs": 1} {
		t.Run(name, func(t *testing.T) {
			fleet := &fleetv1alpha1.IntegrationSet{ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: "fleet", Finalizers: []string{fleetv1alpha1.Finalizer}, DeletionTimestamp: &metav1.Time{Time: time.Unix(1, 0)},
			}}
			shop := &bundlev1alpha1.BundleDeployment{ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: "shop", Finalizers: []string{bundlev1alpha1.Finalizer}, DeletionTimestamp: &metav1.Time{Time: time.Unix(1, 0)},
			}}
			w := newWorld(t, shop, fleet, controller(BundleController, ready), definition("relations"))
			names, err := w.Bundles(t.Context())
			require.NoError(t, err)
			assert.Equal(t, []string{"shop/shop"}, names)
			sets, err := w.Sets(t.Context())
			require.NoError(t, err)
			assert.Equal(t, []string{"shop/fleet"}, sets)
			w.lets()
			names, err = w.Bundles(t.Context())
			require.NoError(t, err)
			assert.Equal(t, ready == 0, len(names) == 0)
			gone := apierrors.IsNotFound(w.client.Get(t.Context(), client.ObjectKeyFromObject(fleet), fleet))
			assert.Equal(t, ready == 0, gone)
		})
	}
}

// Every relation ends, and the command waits for the handlers of a unit that is there. It stops at an end that no unit
// can handle.
func TestAll(t *testing.T) {
	pays := func(w *world) {
		if side := w.side(); side != nil && side.State.End != nil {
			require.NoError(w.t, w.client.Delete(context.Background(), side))
		}
	}
	leaves := func(w *world) {
		vault := &v1alpha1.RelatedApplication{}
		require.NoError(w.t, w.client.Get(context.Background(), client.ObjectKey{Namespace: "bank", Name: "vault"}, vault))
		vault.State.Units = nil
		require.NoError(w.t, w.client.Update(context.Background(), vault))
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "bank", Name: "vault", UID: "p"}} // a user may have removed its labels
	dies := func(w *world) {
		require.NoError(w.t, w.client.Delete(context.Background(), pod.DeepCopy()))
	}
	tests := map[string]struct {
		why string
		do  func(*world)
		err error
	}{
		"Handled": {why: "its handlers have run", do: pays},
		"Deaf":    {why: "its last unit has left", do: leaves, err: ErrDeaf},
		"PodGone": {why: "the record of its last unit outlives its pod, as the namespace has not opted in", do: dies, err: ErrDeaf},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, append(related(false), definition("relations"), optedIn("shop"), optedIn("bank"), pod.DeepCopy())...)
			looks := 0
			w.handles = func() {
				looks++
				do := w.handles
				w.handles = func() {}
				w.lets()
				if looks == 4 { // two confirmations and a look, which has it wait
					test.do(w)
				}
				w.handles = do
			}
			err := Ends{w.Cluster}.All(t.Context())
			require.ErrorIs(t, err, test.err, test.why)
			if test.err != nil {
				assert.ErrorContains(t, err, "bank/vault (main, with web.shop:store): opt its namespace in again and start one: "+
					"kubectl label namespace bank tengu-injector=enabled --overwrite; or waive the end: orcon ends waive ")
			}
			assert.Contains(t, w.reports, "removed label tengu-injector from namespace shop")
			var shop corev1.Namespace
			require.NoError(t, w.client.Get(t.Context(), client.ObjectKey{Name: "shop"}, &shop))
			assert.NotContains(t, shop.Labels, application.LabelOptIn)
		})
	}
}

// The ends of all relations are confirmed before they come, and a waived one stays waived (TRUST.md T4).
func TestConfirm(t *testing.T) {
	for before, after := range map[string]string{"": v1alpha1.EndConfirm, v1alpha1.EndKeep: v1alpha1.EndConfirm, v1alpha1.EndWaive: v1alpha1.EndWaive} {
		w := newWorld(t, append(related(false), definition("relations"))...)
		side := w.side()
		side.Annotations = map[string]string{v1alpha1.EndKey: before}
		require.NoError(t, w.client.Update(t.Context(), side))
		require.NoError(t, Ends{w.Cluster}.confirm(t.Context()))
		assert.Equal(t, after, w.side().Annotations[v1alpha1.EndKey], before)
	}
}

// A side that goes meanwhile needs no confirmation, and one that cannot be written is named.
func TestConfirmFails(t *testing.T) {
	w := newWorld(t, append(related(false), definition("relations"))...)
	w.handles = func() {
		w.handles = func() {}
		require.NoError(t, w.client.Delete(t.Context(), w.side()))
	}
	require.NoError(t, Ends{w.Cluster}.confirm(t.Context()))

	w = newWorld(t, append(related(false), definition("relations"))...)
	refused := errors.New("refused")
	w.client = interceptor.NewClient(w.client.(client.WithWatch), interceptor.Funcs{ //nolint:forcetypeassert // it is the builder's
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return refused
		},
	})
	err := Ends{w.Cluster}.confirm(t.Context())
	require.ErrorIs(t, err, refused)
	assert.ErrorContains(t, err, w.side().Name)
}

// A cluster that does not answer is no empty cluster.
func TestUnreadable(t *testing.T) {
	w := newWorld(t)
	broken := errors.New("no route")
	w.client = failing{w.client, broken}
	_, err := w.Census(t.Context())
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "cannot list Relations: no route")
	_, err = w.Bundles(t.Context())
	require.ErrorIs(t, err, broken)
	_, err = w.Workspaces(t.Context())
	require.ErrorIs(t, err, broken)
	_, err = w.Runs(t.Context(), RelationsController)
	require.ErrorIs(t, err, broken)
	_, err = Holds{w.Cluster}.List(t.Context(), time.Unix(2, 0))
	require.ErrorIs(t, err, broken)
	_, err = Parts{w.Cluster}.Programs(t.Context())
	require.ErrorIs(t, err, broken)
	require.ErrorIs(t, Ends{w.Cluster}.All(t.Context()), broken)
}

// failing is a client whose lists fail.
type failing struct {
	client.Client

	err error
}

func (f failing) List(context.Context, client.ObjectList, ...client.ListOption) error { return f.err }

// What a person may not delete is named, and what comes after it is left alone.
func TestTakeIsRefused(t *testing.T) {
	w := newWorld(t, installed()...)
	refused := errors.New("forbidden")
	w.client = refusing{w.client, refused}
	err := Parts{w.Cluster}.TakePrograms(t.Context())
	require.ErrorIs(t, err, refused)
	require.ErrorContains(t, err, "cannot delete APIService v1alpha1.jobs.orcon.tengu.io")
	assert.Empty(t, w.reports)
	runs, err := w.Runs(t.Context(), RelationsController)
	require.NoError(t, err)
	assert.True(t, runs)
}

// refusing is a client that deletes nothing.
type refusing struct {
	client.Client

	err error
}

func (r refusing) Delete(context.Context, client.Object, ...client.DeleteOption) error { return r.err }

// Taken twice, nothing is left to do and nothing fails.
func TestTakeTwice(t *testing.T) {
	w := newWorld(t, installed()...)
	for range 2 {
		require.NoError(t, Parts{w.Cluster}.TakePrograms(t.Context()))
		require.NoError(t, Parts{w.Cluster}.TakeRest(t.Context()))
	}
	assert.Len(t, w.reports, len(w.deleted), "each deletion once")
}

// A cluster without Orcon has nothing that could be in the way.
func TestNothingInstalled(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, Ends{w.Cluster}.All(t.Context()))
	require.NoError(t, Parts{w.Cluster}.TakePrograms(t.Context()))
	require.NoError(t, Parts{w.Cluster}.TakeRest(t.Context()))
	held, err := Holds{w.Cluster}.List(t.Context(), time.Unix(2, 0))
	require.NoError(t, err)
	assert.Empty(t, held)
	assert.Empty(t, w.reports)
}
