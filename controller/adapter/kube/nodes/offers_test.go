package nodes_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/nodes"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	controller "gitlab.ilabt.imec.be/tengu/orcon/controller/job/node"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

const home = "orcon-system"

// attempt names the first attempt of JobRun shop/deploy.
func attempt() executor.Name {
	return executor.Name{Namespace: "shop", Run: "deploy", UID: "u", Number: 1}
}

// offer returns an offer of it to a node.
func offer(to string) controller.OfferedAttempt {
	return controller.OfferedAttempt{
		Attempt: executor.Attempt{Name: attempt(), Workspace: "web", Fence: 4, Timing: job.Timing{Lost: time.Minute, Grace: time.Second}},
		Offer:   node.Offer{Node: to, Key: "k", Since: now},
	}
}

// Offers are Leases that name their node, beside those of other things. One is made once, changed by conditional writes, and
// deleted once.
func TestOffers(t *testing.T) {
	away := false
	other := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "job-run-u"}}
	c := cluster(t, &away, other)
	f := nodes.Offers{Cache: c, Live: c, Writer: c, Namespace: home}
	_, there, err := f.Get(t.Context(), attempt())
	require.NoError(t, err)
	assert.False(t, there)
	require.NoError(t, f.Make(t.Context(), offer("lab")))
	require.NoError(t, f.Make(t.Context(), offer("another")), "it changes nothing")
	got, there, err := f.Stored(t.Context(), executor.Name{UID: "u", Number: 1})
	require.NoError(t, err)
	assert.True(t, there)
	want := offer("lab")
	want.Version = got.Version
	assert.Equal(t, want, got)
	var l coordinationv1.Lease
	require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: home, Name: "job-offer-u-1"}, &l))
	assert.Equal(t, "lab", *l.Spec.HolderIdentity)
	assert.True(t, l.Spec.AcquireTime.Equal(&metav1.MicroTime{Time: now}))

	all, err := f.List(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []controller.OfferedAttempt{got}, all)
	for name, count := range map[string]int{"lab": 1, "another": 0} {
		of, err := f.Of(t.Context(), name)
		require.NoError(t, err)
		assert.Len(t, of, count)
	}
	changed := got
	changed.Accepted, changed.Obstacle = true, "it pulls"
	require.NoError(t, f.Change(t.Context(), changed))
	require.Error(t, f.Change(t.Context(), changed), "another change came between")
	got, _, err = f.Get(t.Context(), attempt())
	require.NoError(t, err)
	assert.True(t, got.Accepted)
	for range 2 {
		require.NoError(t, f.Delete(t.Context(), attempt()))
	}
	_, there, err = f.Stored(t.Context(), attempt())
	require.NoError(t, err)
	assert.False(t, there)
}

// An offer that cannot be read is told from one that is not there.
func TestUnreadable(t *testing.T) {
	away := false
	c := cluster(t, &away, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: home, Name: "job-offer-u-1", Labels: map[string]string{v1alpha1.LabelNode: "lab"},
	}})
	f := nodes.Offers{Cache: c, Live: c, Writer: c, Namespace: home}
	_, _, err := f.Get(t.Context(), attempt())
	require.ErrorContains(t, err, "cannot read Lease orcon-system/job-offer-u-1: ")
	_, err = f.List(t.Context())
	require.ErrorContains(t, err, "delete it, and cancel the run that it names")
	away = true
	_, _, err = f.Stored(t.Context(), attempt())
	require.ErrorIs(t, err, errAway)
	_, err = f.Of(t.Context(), "lab")
	require.ErrorIs(t, err, errAway)
}

// A Run is found by its name, and is another one if it has another UID.
func TestRuns(t *testing.T) {
	away := false
	o := &v1alpha1.JobRun{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "deploy", UID: "u", OwnerReferences: []metav1.OwnerReference{{Kind: "JobWorkspace", UID: "w"}},
	}}
	unfrozen := o.DeepCopy()
	unfrozen.Name, unfrozen.OwnerReferences = "new", nil
	require.NoError(t, convert.SetInput(o, run.Input{
		Artifact: run.Artifact{Image: "image"}, Safety: job.Exclusive, Parameters: map[string]any{},
		Surroundings: run.Surroundings{Target: node.Selection{Name: "lab"}},
	}))
	r := nodes.OfferedRuns{Live: cluster(t, &away, o, unfrozen)}
	input, err := r.Input(t.Context(), attempt())
	require.NoError(t, err)
	assert.Equal(t, node.Selection{Name: "lab"}, input.Target)
	uid, identity, err := r.Identity(t.Context(), attempt())
	require.NoError(t, err)
	assert.Equal(t, "w", uid)
	assert.Equal(t, workspace.Run{UID: "u", Name: "deploy"}, identity)

	named := attempt()
	named.Run = "new"
	_, err = r.Input(t.Context(), named)
	require.ErrorContains(t, err, "not frozen")
	_, _, err = r.Identity(t.Context(), named)
	require.ErrorIs(t, err, controller.ErrNone)
	named = attempt()
	named.UID = "v"
	_, err = r.Input(t.Context(), named)
	require.ErrorIs(t, err, controller.ErrNone)
	away = true
	_, _, err = r.Identity(t.Context(), attempt())
	require.ErrorIs(t, err, errAway)
	require.NotErrorIs(t, err, controller.ErrNone)
}

// The authority is made once, and stays.
func TestAuthority(t *testing.T) {
	away := false
	c := cluster(t, &away)
	a := nodes.AuthoritySecret{Live: c, Writer: c, Namespace: home}
	_, _, _, err := a.Read(t.Context())
	require.ErrorContains(t, err, "cannot read Secret orcon-system/job-node-authority: ")
	for _, text := range []string{"first", "second"} {
		require.NoError(t, a.Make(t.Context(), func() (certificate, key []byte, err error) { return []byte(text), []byte("key"), nil }))
	}
	certificate, key, trusted, err := a.Read(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "first key ", string(certificate)+" "+string(key)+" "+string(trusted))
	s := &corev1.Secret{}
	require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: home, Name: nodes.AuthorityName}, s))
	s.Data["trusted.crt"] = []byte("next")
	require.NoError(t, c.Update(t.Context(), s))
	_, _, trusted, err = a.Read(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "next", string(trusted))
	require.ErrorIs(t, nodes.AuthoritySecret{Live: cluster(t, &away), Writer: c, Namespace: home}.Make(t.Context(),
		func() (certificate, key []byte, err error) { return nil, nil, errAway }), errAway)
}
