package fleet

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	bundlev1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/integrationset"
)

// A controller that dies between any two writes leaves what the next one goes on from: members are made, changed and,
// once a person has confirmed it, deleted, as if no process had died (FLEET.md "Shown by").
func TestKilledBetweenAnyTwoWrites(t *testing.T) {
	for life := 1; life < 5; life++ {
		w := newWorld(t)
		settle := func() {
			for range 60 {
				w.writes = life
				if w.round(w.process()) == nil && w.writes == life { // nothing was left to write
					return
				}
				w.report("Ready", "")
			}
			require.Fail(t, "it does not settle", "%d writes in a life: %+v", life, w.read().Status)
		}
		w.runs("a", "3")
		w.runs("b", "1")
		settle()
		assert.Equal(t, []string{"", "a", "b"}, slices.Sorted(maps.Keys(w.members())), life)
		w.runs("a", "0")
		w.runs("b", "2")
		w.runs("c", "1")
		settle()
		require.NotNil(t, w.read().Status.Removal, life)
		assert.Equal(t, []string{"", "a", "b", "c"}, slices.Sorted(maps.Keys(w.members())), life)
		w.set.Annotations = map[string]string{v1alpha1.ConfirmKey: w.set.Status.Removal.Digest}
		require.NoError(t, w.client.Update(t.Context(), w.set))
		settle()
		assert.Equal(t, []string{"", "b", "c"}, slices.Sorted(maps.Keys(w.members())), life)
		assert.Equal(t, "2", w.members()["b"].Annotations[v1alpha1.WorkloadsKey], life)
		assert.Equal(t, "MembersReady", w.why(), life)
		assert.Empty(t, w.set.State.Confirmed, life)
	}
}

// A confirmation counts for one removal: the next one waits again.
func TestConfirmationCountsOnce(t *testing.T) {
	w := newWorld(t)
	r := w.process()
	w.runs("a", "1")
	w.runs("b", "1")
	w.settle(r)
	w.runs("a", "0")
	require.NoError(t, w.round(r))
	require.Equal(t, "RemovalHeld", w.why())
	w.set.Annotations = map[string]string{v1alpha1.ConfirmKey: w.set.Status.Removal.Digest}
	require.NoError(t, w.client.Update(t.Context(), w.set))
	w.settle(r)
	require.NotContains(t, w.members(), "a")
	w.runs("a", "1")
	w.settle(r)
	w.runs("a", "0")
	w.runs("b", "0")
	w.settle(r)
	assert.Equal(t, "RemovalHeld", w.why())
	assert.Len(t, w.members(), 3)
}

// A member that a deleted set has left is taken up again by a new set of the name.
func TestComesBack(t *testing.T) {
	w := newWorld(t)
	w.runs("a", "1")
	w.settle(w.process())
	before := w.members()["a"]
	w.leave(w.set)
	require.NotContains(t, w.members()["a"].Labels, v1alpha1.SetLabel)
	w.set = &v1alpha1.IntegrationSet{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: "prod"}, Spec: w.set.Spec}
	require.NoError(t, w.client.Create(t.Context(), w.set))
	w.settle(w.process())
	assert.Equal(t, "MembersReady", w.why())
	assert.Equal(t, before.UID, w.members()["a"].UID)
	assert.Equal(t, "prod", w.members()["a"].Labels[v1alpha1.SetLabel])
}

// Data that can no longer be fetched are told, and those of before stay.
func TestStaleData(t *testing.T) {
	w := newWorld(t)
	r := w.process()
	w.runs("a", "1")
	w.settle(r)
	w.broken = errors.New("no answer")
	require.NoError(t, w.round(r))
	assert.Equal(t, "FetchFailed", w.why())
	assert.Contains(t, meta.FindStatusCondition(w.set.Status.Conditions, "Reconciling").Message, "no answer")
	assert.Contains(t, w.members(), "a")
	w.broken = nil
	w.settle(r)
	assert.Equal(t, "MembersReady", w.why())
}

// A bundle of Qontract is read as the files that it holds. One that cannot be read deletes nothing, and the last good
// data are kept (FLEET.md D5).
func TestQontractBundle(t *testing.T) {
	w := newWorld(t)
	r := w.process()
	good := `{"git_commit": "c", "resources": {}, "data": {
		"/ns.yml": {"$schema": "/openshift/lean-namespace-1.yml", "name": "tools", "cluster": {"name": "one"}, "environment": {"name": "prod"}},
		"/a.yml": {"$schema": "/app-sre/integration-1.yml", "name": "a", "managed": [{"namespace": {"$ref": "/ns.yml"}, "spec": {"resources": {}}}]}}}`
	w.files = map[string]string{"bundle.json": good}
	w.settle(r)
	require.Equal(t, "MembersReady", w.why())
	for _, broken := range []string{good[:len(good)-30], `{"git_commit": "c"}`} {
		w.files["bundle.json"] = broken
		require.NoError(t, w.round(r))
		assert.Equal(t, "FetchFailed", w.why())
		assert.Contains(t, meta.FindStatusCondition(w.set.Status.Conditions, "Reconciling").Message, "cannot use bundle bundle.json")
		assert.Equal(t, []string{"", "a"}, slices.Sorted(maps.Keys(w.members())))
		assert.EqualValues(t, 2, w.set.Status.Members)
	}
	w.files["bundle.json"] = good
	w.settle(r)
	assert.Equal(t, "MembersReady", w.why())
}

// A member that needs a person is named with its words, and harms no other (FLEET.md O1).
func TestStalledMember(t *testing.T) {
	w := newWorld(t)
	r := w.process()
	w.runs("a", "1")
	require.NoError(t, w.round(r))
	w.report("Stalled", "the account may not")
	w.runs("b", "1")
	require.NoError(t, w.round(r))
	assert.Contains(t, w.members(), "b")
	assert.Equal(t, "MemberStalled", w.why())
}

// A member that the API server refuses holds no other up, and the set says why it is missing (FLEET.md O1).
func TestRefusedMemberStopsNoOther(t *testing.T) {
	w := newWorld(t)
	w.runs("a", "1")
	w.runs("b", "1")
	r := w.process()
	refused := true
	r.Client = interceptor.NewClient(w.client, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			if refused && o.GetAnnotations()[v1alpha1.IntegrationKey] == "a" {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "bundledeployments"}, o.GetName(), errors.New("exceeded quota: few"))
			}
			return c.Create(ctx, o, options...)
		},
	})
	for range 3 {
		require.NoError(t, w.round(r))
		w.report("Ready", "")
	}
	assert.Equal(t, []string{"", "b"}, slices.Sorted(maps.Keys(w.members())))
	require.NotEmpty(t, w.read().Status.Waits)
	assert.Contains(t, w.set.Status.Waits[0].Message, "exceeded quota: few")
	assert.NotEqual(t, "MembersReady", w.why())
	refused = false
	w.settle(r)
	assert.Equal(t, "MembersReady", w.why())
}

// What the set did not make is neither changed nor deleted, whatever its labels are (FLEET.md O4).
func TestOthersStay(t *testing.T) {
	w := newWorld(t)
	r := w.process()
	w.runs("a", "1")
	name := integrationset.Name("prod", integrationset.Key{Integration: "a", Namespace: "/ns.yml"})
	taken := &bundlev1alpha1.BundleDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: name}}
	labelled := &bundlev1alpha1.BundleDeployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "fleet", Name: "mine", Labels: map[string]string{v1alpha1.SetLabel: "prod"},
	}}
	require.NoError(t, w.client.Create(t.Context(), taken))
	require.NoError(t, w.client.Create(t.Context(), labelled))
	w.settle(r)
	assert.NotEqual(t, "MembersReady", w.why())
	require.NotEmpty(t, w.set.Status.Waits)
	assert.Equal(t, "BundleDeployment "+name+" exists, and no set made it: delete or rename it", w.set.Status.Waits[0].Message)
	for _, o := range []*bundlev1alpha1.BundleDeployment{taken, labelled} {
		var now bundlev1alpha1.BundleDeployment
		require.NoError(t, w.client.Get(t.Context(), client.ObjectKeyFromObject(o), &now), o.Name)
		assert.Equal(t, o.Spec, now.Spec)
	}
}

// Members of integrations and environments that the set no longer selects go on as they are.
func TestUnselectedGoesOn(t *testing.T) {
	w := newWorld(t)
	r := w.process()
	w.runs("a", "1")
	w.runs("b", "1")
	w.settle(r)
	w.read().Spec.Integrations = []string{"b"}
	require.NoError(t, w.client.Update(t.Context(), w.set))
	w.settle(r)
	assert.Equal(t, "MembersReady", w.why())
	w.read().Spec.Environments = []string{"stage"}
	require.NoError(t, w.client.Update(t.Context(), w.set))
	w.settle(r)
	assert.Len(t, w.members(), 3)
}

// Where another user must approve each change, a set names the user who requests those of its members, or makes none.
func TestSelfApproval(t *testing.T) {
	w := newWorld(t)
	w.runs("a", "1")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "fleet", Annotations: map[string]string{"orcon.tengu.io/self-approval": "Forbid"}}}
	require.NoError(t, w.client.Update(t.Context(), namespace))
	require.NoError(t, w.round(w.process()))
	assert.Equal(t, "SelfApprovalForbidden", w.why())
	assert.Contains(t, meta.FindStatusCondition(w.set.Status.Conditions, "Stalled").Message,
		"kubectl annotate integrationset prod -n fleet orcon.tengu.io/requester=YOUR-USER-NAME")
	assert.Empty(t, w.members())

	w.read().Annotations = map[string]string{"orcon.tengu.io/requester": "alice"}
	require.NoError(t, w.client.Update(t.Context(), w.set))
	w.settle(w.process())
	assert.Equal(t, "MembersReady", w.why())
	requester := func() string { return w.members()["a"].Annotations["orcon.tengu.io/requester"] }
	assert.Equal(t, "alice", requester())

	w.read().Annotations = map[string]string{"orcon.tengu.io/requester": "bob"}
	require.NoError(t, w.client.Update(t.Context(), w.set))
	w.settle(w.process())
	assert.Equal(t, "alice", requester(), "the change of the member is still hers")
	w.runs("a", "2")
	w.settle(w.process())
	assert.Equal(t, "bob", requester())
}

// Sources that the controller must not read, such as its own files, are refused with the field (BUNDLES.md 9).
func TestSourcesAreChecked(t *testing.T) {
	for reference, want := range map[string]string{
		"/etc":                                  "spec.data.sources[0].reference: \"/etc\" is a local path",
		"git+https://git.example.org/data@main": "is not pinned",
	} {
		w := newWorld(t)
		w.set.Spec.Data.Sources[0].Reference = reference
		require.NoError(t, w.client.Update(t.Context(), w.set))
		require.NoError(t, w.round(w.process()))
		assert.Equal(t, "InvalidSpec", w.why(), reference)
		assert.Contains(t, meta.FindStatusCondition(w.set.Status.Conditions, "Stalled").Message, want)
	}
}

// Waves are changed one after the other, and a wave that does not become ready stops the next (FLEET.md O3).
func TestWaves(t *testing.T) {
	w := newWorld(t)
	r := w.process()
	w.set.Spec.Waves = []v1alpha1.IntegrationWave{{Integrations: []string{"b"}}}
	require.NoError(t, w.client.Update(t.Context(), w.set))
	w.runs("a", "1")
	w.runs("b", "1")
	require.NoError(t, w.round(r))
	assert.Equal(t, []string{"", "b"}, slices.Sorted(maps.Keys(w.members())))
	w.report("Stalled", "no image")
	require.NoError(t, w.round(r))
	assert.NotContains(t, w.members(), "a")
	w.settle(r)
	assert.Contains(t, w.members(), "a")
}

// A wave also selects integrations by the labels in their files.
func TestWavesByLabel(t *testing.T) {
	w := newWorld(t)
	r := w.process()
	w.set.Spec.Waves = []v1alpha1.IntegrationWave{{MatchLabels: map[string]string{"tier": "first"}}}
	require.NoError(t, w.client.Update(t.Context(), w.set))
	w.runs("a", "1")
	w.runs("b", "1")
	w.files["b.yml"] += "labels: {tier: first, other: x}\n"
	require.NoError(t, w.round(r))
	assert.Equal(t, []string{"", "b"}, slices.Sorted(maps.Keys(w.members())))
	w.settle(r)
	assert.Contains(t, w.members(), "a")
}

// Two sets that share a namespace share what the chart renders for it once, and the other goes on with it when one leaves
// (FLEET-DESIGN.md 1).
func TestSetsShare(t *testing.T) {
	w := newWorld(t)
	w.runs("a", "1")
	w.runs("b", "1")
	first := w.set
	first.Spec.Integrations = []string{"a"}
	require.NoError(t, w.client.Update(t.Context(), first))
	w.settle(w.process())
	second := w.another("other", "b")
	w.settle(w.process())
	assert.Equal(t, "MembersReady", w.why())
	assert.Equal(t, map[string]string{"": "prod", "a": "prod", "b": "other"}, w.owners())
	shared := w.members()[""]

	w.set = first
	w.settle(w.process())
	assert.Equal(t, "MembersReady", w.why(), "a claim of what is shared is no conflict")
	w.read().Spec.Chart.Values = &runtime.RawExtension{Raw: []byte(`{"gov_slack": true}`)}
	require.NoError(t, w.client.Update(t.Context(), w.set))
	w.settle(w.process())
	w.set = second
	require.NoError(t, w.round(w.process()))
	assert.Equal(t, "MemberConflict", w.why(), "it is made otherwise")

	w.leave(first)
	assert.Equal(t, map[string]string{"": "other", "a": "", "b": "other"}, w.owners())
	w.settle(w.process())
	assert.Equal(t, "MembersReady", w.why())
	assert.Equal(t, shared.UID, w.members()[""].UID)
	assert.NotContains(t, w.members()[""].Annotations, v1alpha1.ClaimPrefix+"other")
}

// An integration that two sets select stays the first one's, and both say so; it moves when the first no longer selects
// it (FLEET-DESIGN.md 18).
func TestSetsContest(t *testing.T) {
	w := newWorld(t)
	w.runs("a", "1")
	w.runs("b", "1")
	first := w.set
	w.settle(w.process())
	before := w.members()["a"]
	second := w.another("other", "a")
	require.NoError(t, w.round(w.process()))
	require.NoError(t, w.round(w.process()))
	assert.Equal(t, "MemberConflict", w.why())
	assert.Equal(t, "IntegrationSet prod has this member: have only one of the two sets select it", w.set.Status.Waits[0].Message)
	w.set = first
	require.NoError(t, w.round(w.process()))
	assert.Equal(t, "MemberConflict", w.why())
	assert.Equal(t, "IntegrationSet other wants this member too: have only one of the two sets select it", w.set.Status.Waits[0].Message)
	assert.Equal(t, map[string]string{"": "prod", "a": "prod", "b": "prod"}, w.owners())

	t.Log("a file with an error moves nothing")
	good := w.files["a.yml"]
	w.files["a.yml"] += "odd: 1\n"
	require.NoError(t, w.round(w.process()))
	assert.Equal(t, "prod", w.owners()["a"])
	w.files["a.yml"] = good

	w.read().Spec.Integrations = []string{"b"}
	require.NoError(t, w.client.Update(t.Context(), w.set))
	w.settle(w.process())
	assert.Equal(t, "MembersReady", w.why())
	w.set = second
	w.settle(w.process())
	assert.Equal(t, "MembersReady", w.why())
	assert.Equal(t, map[string]string{"": "prod", "a": "other", "b": "prod"}, w.owners())
	assert.Equal(t, before.UID, w.members()["a"].UID)

	t.Log("the members of a set that no longer exists are taken")
	orphan := w.members()["b"]
	orphan.Labels[v1alpha1.SetLabel] = "gone"
	require.NoError(t, w.client.Update(t.Context(), &orphan))
	w.set = first
	w.settle(w.process())
	assert.Equal(t, "prod", w.owners()["b"])
	w.set = second

	t.Log("a claim ends with the wish")
	require.Contains(t, w.members()[""].Annotations, v1alpha1.ClaimPrefix+"other")
	w.read().Spec.Integrations = []string{"none"}
	require.NoError(t, w.client.Update(t.Context(), w.set))
	w.settle(w.process())
	assert.NotContains(t, w.members()[""].Annotations, v1alpha1.ClaimPrefix+"other")
}

// A set deletes its members with it only if that was so before its deletion, as far as its guard allows; another set's claim
// keeps what it claims (FLEET-DESIGN.md 4).
func TestDeletesMembers(t *testing.T) {
	w := newWorld(t)
	w.runs("a", "1")
	w.runs("b", "1")
	w.settle(w.process())
	w.read().Spec.DeletionPolicy = v1alpha1.DeletionPolicyDelete
	require.NoError(t, w.client.Update(t.Context(), w.set))
	w.settle(w.process())
	first := w.set
	w.another("other", "b")
	w.settle(w.process())
	w.set = first
	w.read().Spec.Paused = true
	require.NoError(t, w.client.Update(t.Context(), w.set))
	require.NoError(t, w.client.Delete(t.Context(), first))
	require.NoError(t, w.round(w.process()))
	assert.Equal(t, "Paused", w.why())
	w.read().Spec.Paused = false
	require.NoError(t, w.client.Update(t.Context(), w.set))
	require.NoError(t, w.round(w.process()))
	assert.Equal(t, "RemovalHeld", w.why())
	require.Contains(t, w.members(), "a")
	w.set.Annotations = map[string]string{v1alpha1.ConfirmKey: w.set.Status.Removal.Digest}
	require.NoError(t, w.client.Update(t.Context(), w.set))
	for range 5 {
		require.NoError(t, w.round(w.process()))
	}
	assert.Equal(t, map[string]string{"": "other", "b": "other"}, w.owners())
	require.True(t, apierrors.IsNotFound(w.client.Get(t.Context(), client.ObjectKeyFromObject(first), first)))

	t.Log("a policy that is set after the deletion comes too late")
	w = newWorld(t)
	w.runs("a", "1")
	w.settle(w.process())
	require.NoError(t, w.client.Delete(t.Context(), w.set))
	w.read().Spec.DeletionPolicy = v1alpha1.DeletionPolicyDelete
	require.NoError(t, w.client.Update(t.Context(), w.set))
	require.NoError(t, w.round(w.process()))
	require.NoError(t, w.round(w.process()))
	assert.Contains(t, w.members(), "a")
}

// A set whose cluster has another address in the data than this one stamps nothing: its name may be that of another cluster
// (FLEET-DESIGN.md 3).
func TestServerURL(t *testing.T) {
	w := newWorld(t)
	w.runs("a", "1")
	w.files["ns.yml"] = strings.Replace(w.files["ns.yml"], "{name: one}", "{name: one, serverUrl: https://api.one.example.org:6443}", 1)
	r := w.process()
	r.ServerURL = "https://api.two.example.org:6443"
	require.NoError(t, w.round(r))
	require.NoError(t, w.round(r))
	assert.Equal(t, "InvalidSpec", w.why())
	assert.Empty(t, w.members())
	r.ServerURL = "https://api.one.example.org:6443/"
	w.settle(r)
	assert.Equal(t, "MembersReady", w.why())
}

// A strategy that finds no object stops what ran, as the guard allows, and a chart that is to leave the Service out makes no
// member of it (FLEET.md D3).
func TestIdle(t *testing.T) {
	w := newWorld(t)
	account := "$schema: /aws/account-1.yml\nname: main\n"
	w.files["account.yml"] = account
	w.runs("a", "1")
	w.runs("b", "1")
	w.files["a.yml"] = strings.Replace(w.files["a.yml"], "{strategy: static, shards: 1}", "{strategy: per-aws-account}", 1)
	w.set.Spec.Chart.Values = &runtime.RawExtension{Raw: []byte(`{"excludeService": true}`)}
	require.NoError(t, w.client.Update(t.Context(), w.set))
	w.settle(w.process())
	assert.Equal(t, map[string]string{"a": "prod", "b": "prod"}, w.owners())
	delete(w.files, "account.yml")
	w.settle(w.process())
	assert.Equal(t, "RemovalHeld", w.why())
	w.files["account.yml"] = account + "odd: [\n"
	w.settle(w.process())
	assert.Equal(t, "DataFaulty", w.why(), "a file that cannot be read is not gone")
	assert.Contains(t, w.members(), "a")
}

// The fields that a chart adds to a spec are read from its schema, and checked by it; what does not fit harms no other
// (FLEET.md D2).
func TestChartSchema(t *testing.T) {
	w := newWorld(t)
	w.files["Chart.yaml"] = "apiVersion: v2\nname: x\nversion: 1.0.0\n"
	w.files["values.schema.json"] = `{"properties": {"integrations": {"items": {"properties": {"nodeSize": {"type": "integer"}}}}}}`
	w.runs("a", "1")
	w.runs("b", "1")
	w.files["a.yml"] = strings.Replace(w.files["a.yml"], "spec: {", "spec: {nodeSize: 3, ", 1)
	w.settle(w.process())
	assert.Equal(t, "MembersReady", w.why())
	assert.Contains(t, string(w.members()["a"].Spec.Render.Values.Raw), `"nodeSize":3`)
	before := w.members()["a"].Spec
	w.files["a.yml"] = strings.Replace(w.files["a.yml"], "nodeSize: 3", "nodeSize: three", 1)
	w.files["b.yml"] = strings.Replace(w.files["b.yml"], "spec: {", "spec: {nodeSize: 4, ", 1)
	w.settle(w.process())
	assert.Equal(t, "DataFaulty", w.why())
	assert.Contains(t, w.set.Status.Faults[0], "/a.yml:5: ")
	assert.Equal(t, before, w.members()["a"].Spec)
	assert.Contains(t, string(w.members()["b"].Spec.Render.Values.Raw), `"nodeSize":4`)
}
