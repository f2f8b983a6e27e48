package fleet

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bundlev1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/integrationset"
)

// message returns the message of the condition Stalled.
func (w *world) message() string {
	w.t.Helper()
	stalled := meta.FindStatusCondition(w.read().Status.Conditions, "Stalled")
	require.NotNil(w.t, stalled)
	return stalled.Message
}

// change changes the set.
func (w *world) change(do func(*v1alpha1.IntegrationSet)) {
	w.t.Helper()
	do(w.read())
	require.NoError(w.t, w.client.Update(w.t.Context(), w.set))
}

// The member as which the controller runs is changed like any other, and is stopped, moved or deleted only when a person
// confirms it, by the command in the message (FLEET.md O6).
func TestOwnMember(t *testing.T) {
	w := newWorld(t)
	r := w.manager()
	for integration := range strings.FieldsSeq("a b c d manager") {
		w.runs(integration, "1")
	}
	w.settle(r)
	require.Equal(t, "MembersReady", w.why())
	own, other := w.members()["manager"].Spec, w.members()["a"].Spec
	assert.Equal(t, bundlev1alpha1.OnFailureKeep, own.Rollback.OnFailure)
	assert.Empty(t, other.Rollback.OnFailure)
	assert.Equal(t, bundlev1alpha1.BundlePrune{ConfirmKinds: []string{"CronJob", "Deployment", "StatefulSet"}}, own.Prune)
	assert.Equal(t, bundlev1alpha1.BundlePrune{KindChange: "DeleteFirst"}, other.Prune)

	t.Log("more of it needs nobody, and less of it a person")
	w.runs("manager", "2")
	w.settle(r)
	require.Equal(t, "MembersReady", w.why())
	for name, change := range map[string]func(){
		"Removed": func() { w.runs("manager", "0") },
		"Fewer":   func() { w.runs("manager", "1") },
		"Moved": func() {
			w.files["ns.yml"] = strings.Replace(w.files["ns.yml"], "name: tools", "name: others", 1)
		},
	} {
		good := w.files["ns.yml"]
		before := w.members()["manager"]
		change()
		require.NoError(t, w.round(r))
		assert.Equal(t, "RemovalHeld", w.why(), name)
		assert.Contains(t, w.message(), "manager in /ns.yml runs this controller itself: put it back into the data, or confirm: kubectl annotate "+
			"integrationset prod -n fleet --overwrite orcon.tengu.io/confirm="+w.set.Status.Removal.Digest)
		assert.Equal(t, before.Spec, w.members()["manager"].Spec, name)
		w.files["ns.yml"] = good
		w.runs("manager", "2")
		w.settle(r)
		require.Equal(t, "MembersReady", w.why(), name)
	}

	t.Log("another integration goes as the guard allows")
	w.runs("a", "0")
	w.settle(r)
	assert.NotContains(t, w.members(), "a")

	w.runs("manager", "0")
	require.NoError(t, w.round(r))
	w.change(func(s *v1alpha1.IntegrationSet) {
		s.Annotations = map[string]string{v1alpha1.ConfirmKey: s.Status.Removal.Digest}
	})
	require.NoError(t, w.round(r))
	require.Contains(t, w.members(), "manager")
	assert.Empty(t, w.members()["manager"].Spec.Prune.ConfirmKinds, "one confirmation is enough for its Deployment too")
	require.NoError(t, w.round(r))
	assert.NotContains(t, w.members(), "manager")
}

// A controller that is not deployed by the data, or in another namespace, has no member of its own.
func TestNoOwnMember(t *testing.T) {
	for _, self := range []integrationset.Self{{}, {Integration: "manager", Namespace: "orcon-system"}, {Integration: "a", Namespace: "tools"}} {
		w := newWorld(t)
		r := w.manager()
		r.Self = self
		for integration := range strings.FieldsSeq("a b c d manager") {
			w.runs(integration, "1")
		}
		w.settle(r)
		assert.Equal(t, bundlev1alpha1.BundlePrune{KindChange: "DeleteFirst"}, w.members()["manager"].Spec.Prune)
		w.runs("manager", "0")
		w.settle(r)
		assert.NotContains(t, w.members(), "manager", "it goes as the guard allows")
	}
}

// While another program runs under the controller's name, sets only plan, but for one that takes this integration over
// (FLEET.md O6).
func TestRivalStopsWrites(t *testing.T) {
	w := newWorld(t)
	r := w.manager()
	w.runs("a", "1")
	w.runs("manager", "1")
	w.running = map[string]string{"Deployment x": "orcon:2", "Deployment qontract-reconcile-manager": "quay.io/app-sre/qontract-reconcile:1"}
	for range 3 {
		require.NoError(t, w.round(r))
	}
	assert.Equal(t, "OtherManager", w.why())
	assert.Contains(t, w.message(), "Deployment qontract-reconcile-manager in namespace tools runs as manager too, with image "+
		"quay.io/app-sre/qontract-reconcile:1, ")
	assert.Empty(t, w.members())

	t.Log("what may not be seen may run")
	seen := w.running
	w.running, w.hidden = nil, apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, "", nil)
	require.NoError(t, w.round(r))
	assert.Equal(t, "OtherManager", w.why())
	assert.Contains(t, w.message(), "let the account list Deployments and StatefulSets there")
	assert.Empty(t, w.members())
	w.running, w.hidden = seen, nil

	t.Log("a controller that is no integration has no rival")
	first := w.set
	w.change(func(s *v1alpha1.IntegrationSet) { s.Spec.Integrations = []string{"a"} })
	w.another("takeover", "manager")
	w.settle(r)
	assert.Equal(t, map[string]string{"": "takeover", "manager": "takeover"}, w.owners())
	w.set = first
	require.NoError(t, w.round(r))
	assert.Equal(t, "OtherManager", w.why())
	delete(w.running, "Deployment qontract-reconcile-manager")
	w.settle(r)
	assert.Equal(t, "MembersReady", w.why())
	assert.Contains(t, w.members(), "a")

	t.Log("a deleted set deletes nothing meanwhile")
	w.running = seen
	w.running["StatefulSet y"] = "other:1"
	w.change(func(s *v1alpha1.IntegrationSet) { s.Spec.DeletionPolicy = v1alpha1.DeletionPolicyDelete })
	require.NoError(t, w.round(r))
	require.NoError(t, w.client.Delete(t.Context(), w.read()))
	w.confirmAll(r)
	assert.Equal(t, "OtherManager", w.why())
	assert.Contains(t, w.members(), "a")
}

// confirmAll reconciles, and confirms the removal that waits.
func (w *world) confirmAll(r *Reconciler) {
	w.t.Helper()
	require.NoError(w.t, w.round(r))
	if w.read().Status.Removal != nil {
		w.change(func(s *v1alpha1.IntegrationSet) {
			s.Annotations = map[string]string{v1alpha1.ConfirmKey: s.Status.Removal.Digest}
		})
	}
	require.NoError(w.t, w.round(r))
}

// A controller with -dryRun counts what it would write, and writes no member (FLEET.md O6).
func TestDryRun(t *testing.T) {
	w := newWorld(t)
	r := w.process()
	w.runs("a", "1")
	w.runs("b", "1")
	w.settle(r)
	w.runs("a", "2")
	w.runs("b", "0")
	w.runs("c", "1")
	before := w.members()
	r.DryRun = true
	w.confirmAll(r)
	assert.Equal(t, "DryRun", w.why())
	assert.Contains(t, w.message(), "it would create 1 members, update 1 and delete 0: start the controller with -dryRun=false")
	require.NotNil(t, w.set.Status.Removal, "the removal would wait")
	assert.Equal(t, before, w.members())
	assert.Empty(t, w.set.State.Confirmed)

	t.Log("a deleted set too")
	w.change(func(s *v1alpha1.IntegrationSet) {
		s.Spec.DeletionPolicy, s.Annotations = v1alpha1.DeletionPolicyDelete, nil
	})
	require.NoError(t, w.round(r))
	require.NoError(t, w.client.Delete(t.Context(), w.read()))
	w.confirmAll(r)
	assert.Equal(t, "DryRun", w.why())
	assert.Equal(t, before, w.members())
	r.DryRun = false
	w.confirmAll(r)
	for range 3 {
		require.NoError(t, w.round(r))
	}
	assert.Empty(t, w.members())
	require.True(t, apierrors.IsNotFound(w.client.Get(t.Context(), client.ObjectKeyFromObject(w.set), w.set)))
}

// A set that names no environment, upstream or image has the controller's; without an environment it is stopped (FLEET.md D4).
func TestSettings(t *testing.T) {
	w := newWorld(t)
	r := w.manager()
	w.runs("a", "1")
	w.runs("b", "1")
	w.runs("manager", "1")
	w.files["a.yml"] += "upstream: https://example.org/a\n"
	w.files["manager.yml"] += "upstream: https://example.org/a\n"
	w.files["ns.yml"] = strings.Replace(w.files["ns.yml"], "{name: prod}", "{name: prod, parameters: {IMAGE: of-the-environment}}", 1)
	w.change(func(s *v1alpha1.IntegrationSet) { s.Spec.Environments = nil })
	require.NoError(t, w.round(r))
	assert.Equal(t, "InvalidSpec", w.why())
	assert.Contains(t, w.message(), "spec.environments: no environment is named")
	assert.Empty(t, w.members())

	r.Environment = "elsewhere"
	require.NoError(t, w.round(r))
	assert.Equal(t, "NothingDeclared", w.why())
	assert.Empty(t, w.members())

	image := func(integration string) string {
		return string(w.members()[integration].Spec.Render.Parameters["IMAGE"])
	}
	r.Environment, r.Upstream, r.Image = "prod", "https://example.org/a", "of-the-controller"
	w.settle(r)
	assert.Equal(t, map[string]string{"": "prod", "a": "prod", "manager": "prod"}, w.owners())
	assert.Equal(t, "of-the-controller", image("a"))
	assert.Equal(t, "of-the-environment", image("manager"), "it would replace itself by another program")

	r.Process = map[string]string{"FLUENTD_IMAGE": "of-the-process"}
	w.change(func(s *v1alpha1.IntegrationSet) {
		s.Spec.Chart.Parameters = map[string]string{"IMAGE": "of-the-set", "FLUENTD_IMAGE": "of-the-set"}
	})
	w.settle(r)
	assert.Equal(t, "of-the-set", image("a"))
	assert.Equal(t, "of-the-set", image("manager"))
	assert.EqualValues(t, "of-the-process", w.members()["a"].Spec.Render.Parameters["FLUENTD_IMAGE"], "a manager passes its parameters on")

	w.change(func(s *v1alpha1.IntegrationSet) { s.Spec.Environments = []string{"stage"} })
	w.runs("c", "1")
	w.settle(r)
	assert.NotContains(t, w.members(), "c", "a set that names environments keeps to them")
}
