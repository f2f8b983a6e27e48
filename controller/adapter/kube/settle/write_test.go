package settle

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// patched is an API server that keeps patches, and refuses those of some names.
type patched struct {
	*kubetest.Strict

	patches map[string]string
	refused map[string]error
}

func (p *patched) Patch(_ context.Context, o client.Object, patch client.Patch, _ ...client.PatchOption) error {
	data, err := patch.Data(o)
	if err == nil {
		err = p.refused[o.GetName()]
	}
	if err == nil {
		p.patches[o.GetName()] = string(data)
	}
	return err
}

// A rollout changes one annotation of each pod template, and an Event on the workload says why. The state of the
// application is stored after it, so that a crash in between starts the same rollout again.
func TestRollOut(t *testing.T) {
	down := errors.New("the API server is out of reach")
	remember := relation.Remember{
		Record: relation.Record{Name: "db"},
		Rollout: &relation.Rollout{Version: "v2", Workloads: []application.Workload{
			{Object: application.Object{Name: "db"}, Kind: application.Deployment},
			{Object: application.Object{Name: "gone"}, Kind: application.StatefulSet},
		}},
	}
	refused := apierrors.NewForbidden(appsv1.Resource("deployments"), "db", errors.New("a policy"))
	for name, test := range map[string]struct {
		why   string
		db    error
		fails error
		told  []string
	}{
		"Both": {why: "a workload that is gone needs no restart"},
		"Down": {why: "the state says that the workload was restarted", db: down, fails: down},
		"Refused": {why: "only who sees the workload can change the policy", db: refused, fails: refused,
			told: []string{`Warning RestartRefused it is not restarted for new data of its relations: change the policy, or run kubectl rollout restart: deployments.apps "db" is forbidden: a policy`}},
	} {
		t.Run(name, func(t *testing.T) {
			server := &patched{Strict: kubetest.Shop(), patches: map[string]string{}, refused: map[string]error{"db": test.db}}
			db := object.Named(&appsv1.Deployment{}, "shop", "db")
			db.ResourceVersion = "7"
			server.Kept.Put(db)
			recorder := events.NewFakeRecorder(10)
			s := &Settler{Reader: server, Live: server, Writer: server, Events: recorder, Now: kubetest.Epoch}
			err := s.Apply(t.Context(), "shop", remember)
			require.ErrorIs(t, err, test.fails, test.why)
			if test.fails != nil {
				assert.Zero(t, server.Writes, test.why)
				assert.Equal(t, test.told, kubetest.Recorded(recorder))
				return
			}
			assert.Equal(t, map[string]string{
				"db": `{"metadata":{"resourceVersion":"7"},"spec":{"template":{"metadata":{"annotations":{"` + application.KeyDataVersion + `":"v2"}}}}}`,
			}, server.patches, test.why)
			assert.Equal(t, 1, server.Writes, "the state")
			assert.Contains(t, kubetest.Recorded(recorder)[0], "Restarted")
		})
	}
}

// A workload whose restart is refused keeps no other one of its application from being restarted (SAFETY.md L8).
func TestRollOutGoesOn(t *testing.T) {
	refused := apierrors.NewForbidden(appsv1.Resource("deployments"), "db", errors.New("a policy"))
	server := &patched{Strict: kubetest.Shop(), patches: map[string]string{}, refused: map[string]error{"db": refused}}
	server.Kept.Put(object.Named(&appsv1.Deployment{}, "shop", "db"), object.Named(&appsv1.StatefulSet{}, "shop", "standby"))
	s := &Settler{Reader: server, Live: server, Writer: server, Events: events.NewFakeRecorder(10), Now: kubetest.Epoch}
	err := s.Apply(t.Context(), "shop", relation.Remember{
		Record: relation.Record{Name: "db"},
		Rollout: &relation.Rollout{Version: "v2", Workloads: []application.Workload{
			{Object: application.Object{Name: "db"}, Kind: application.Deployment},
			{Object: application.Object{Name: "standby"}, Kind: application.StatefulSet},
		}},
	})
	require.ErrorIs(t, err, refused)
	assert.Contains(t, server.patches, "standby")
	assert.Zero(t, server.Writes, "the state says that all were restarted")
}

// A workload that is ignored, and each of its pods, has one Event with the reason (SAFETY.md A1).
func TestIgnoredHasEvents(t *testing.T) {
	server, recorder := kubetest.Shop(), events.NewFakeRecorder(10)
	for _, name := range []string{"db-0", "db-1"} {
		server.Kept.Put(object.Named(&corev1.Pod{}, "shop", name))
	}
	server.Kept.Put(object.Named(&appsv1.StatefulSet{}, "shop", "db"))
	app := object.Named(&v1alpha1.RelatedApplication{}, "shop", "db")
	app.Status.Exclusions = []v1alpha1.Exclusion{{Object: "StatefulSet/db", Reason: "NameTaken", Message: "Deployment/db has the name", Pods: []string{"db-0"}}}
	writes := eventWriter{server, recorder}
	writes.application(t.Context(), app, &v1alpha1.RelatedApplication{})
	assert.Len(t, kubetest.Recorded(recorder), 2, "the workload and its pod")

	before := app.DeepCopy()
	writes.application(t.Context(), app, before)
	assert.Empty(t, kubetest.Recorded(recorder), "once")

	app.Status.Exclusions[0].Pods = []string{"db-0", "db-1", "unknown"}
	writes.application(t.Context(), app, before)
	assert.Equal(t, []string{"Warning NameTaken Deployment/db has the name"}, kubetest.Recorded(recorder), "the new pod alone")

	app.Status.Exclusions = []v1alpha1.Exclusion{{Object: "Pod/db-0", Reason: "DotInName", Message: "its name has a dot", Pods: []string{"db-0"}}}
	writes.application(t.Context(), app, before)
	assert.Len(t, kubetest.Recorded(recorder), 1, "a bare Pod is both")
}

// A finalizer is written before the first status, and removed last; a Relation that is gone, or another of its name,
// is left alone (SAFETY.md D11).
func TestFinalizer(t *testing.T) {
	r := kubetest.Related("shop", "blog", "shop", "db")
	r.UID, r.Finalizers = "one", nil
	server := kubetest.Shop()
	server.Kept.Put(r)
	counted := object.Named(&v1alpha1.RelatedNamespace{}, "shop", v1alpha1.NamespaceRecord)
	counted.State.LastRelation = 7
	server.Kept.Put(counted)
	s := &Settler{Reader: server, Live: server, Writer: server, Events: events.NewFakeRecorder(10), Now: kubetest.Epoch}
	known, err := convert.ToRelation(r)
	require.NoError(t, err)
	stored := func() *v1alpha1.Relation {
		now := object.Named(&v1alpha1.Relation{}, r.Namespace, r.Name)
		require.NoError(t, server.Get(t.Context(), client.ObjectKeyFromObject(now), now))
		return now
	}
	require.NoError(t, s.Apply(t.Context(), "shop", relation.Update{Relation: known}))
	assert.Equal(t, []string{v1alpha1.Finalizer}, stored().Finalizers)
	writes := server.Writes
	other := known
	other.Object = "two"
	for _, d := range []relation.Decision{relation.Update{Relation: other}, relation.Release{Relation: other}} {
		require.NoError(t, s.Apply(t.Context(), "shop", d))
	}
	assert.Equal(t, writes, server.Writes, "another Relation of the name")
	require.NoError(t, s.Apply(t.Context(), "shop", relation.Release{Relation: known}))
	assert.Empty(t, stored().Finalizers)

	ending := stored()
	ending.DeletionTimestamp = &metav1.Time{Time: kubetest.Epoch()}
	server.Keep(ending)
	require.NoError(t, s.Apply(t.Context(), "shop", relation.Update{Relation: known}))
	assert.Empty(t, stored().Finalizers, "no new one while it is deleted")
	assert.Equal(t, types.UID("one"), stored().UID)
}

// unwritten is an API server that stores the status of objects alone.
type unwritten struct{ *kubetest.Strict }

func (unwritten) Update(context.Context, client.Object, ...client.UpdateOption) error {
	return errors.New("the API server is out of reach")
}

// A Relation that takes over has its status before its id, by which it is current; another new one the other way round
// (TRUST.md A11).
func TestHeirIsWrittenWhole(t *testing.T) {
	for name, test := range map[string]struct {
		identity string
		has      bool
	}{
		"Heir": {identity: "that of the first", has: true},
		"New":  {identity: "one"},
	} {
		t.Run(name, func(t *testing.T) {
			r := kubetest.Related("shop", "blog", "shop", "db")
			r.UID, r.State = "one", v1alpha1.RelationState{}
			server := kubetest.Shop()
			counted := object.Named(&v1alpha1.RelatedNamespace{}, "shop", v1alpha1.NamespaceRecord)
			counted.State.LastRelation = 7
			server.Kept.Put(r, counted)
			s := &Settler{Reader: server, Live: server, Writer: unwritten{server}, Events: events.NewFakeRecorder(10), Now: kubetest.Epoch}
			d, err := convert.ToRelation(r)
			require.NoError(t, err)
			d.UID, d.State = test.identity, relation.State{ID: 7, Offer: "to-the-shop", Status: relation.Joined}
			require.ErrorContains(t, s.Apply(t.Context(), "shop", relation.Update{Relation: d}), "out of reach")
			require.NoError(t, server.Get(t.Context(), client.ObjectKeyFromObject(r), r))
			assert.Zero(t, r.State.ID)
			assert.Equal(t, test.has, r.Status.Offer == "to-the-shop")
		})
	}
}
