package nodes_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/nodes"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	controller "gitlab.ilabt.imec.be/tengu/orcon/controller/job/node"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/conformance"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
)

func newNodes(t *testing.T, away *bool, objects ...client.Object) (nodes.Nodes, client.Client) {
	c := cluster(t, away, objects...)
	return nodes.Nodes{Cache: c, Live: c, Writer: c, Clock: func() time.Time { return now }}, c
}

// What an agent is known by is stored by one conditional write, and comes back.
func TestIdentify(t *testing.T) {
	away := false
	n, _ := newNodes(t, &away, runNode())
	got, version, err := n.Stored(t.Context(), "lab")
	require.NoError(t, err)
	assert.Equal(t, node.Node{Name: "lab", Labels: map[string]string{"site": "a"}, Namespaces: []string{"shop"}, Capacity: 3}, got)
	identity, err := got.Mint("sha256:a", now)
	require.NoError(t, err)
	require.NoError(t, n.Identify(t.Context(), "lab", version, identity))
	require.ErrorIs(t, n.Identify(t.Context(), "lab", version, node.Identity{}), controller.ErrMoved)
	got, err = n.Get(t.Context(), "lab")
	require.NoError(t, err)
	assert.Equal(t, identity, got.Identity)
	all, err := n.List(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []node.Node{got}, all)
}

// A node that is not there is told from one that cannot be read.
func TestNone(t *testing.T) {
	away := false
	n, _ := newNodes(t, &away)
	_, err := n.Get(t.Context(), "lab")
	require.ErrorIs(t, err, controller.ErrNone)
	require.ErrorIs(t, n.Identify(t.Context(), "lab", "1", node.Identity{}), controller.ErrNone)
	require.ErrorIs(t, n.Show(t.Context(), "lab", controller.Shown{}), controller.ErrNone)
	away = true
	_, _, err = n.Stored(t.Context(), "lab")
	require.ErrorIs(t, err, errAway)
	require.NotErrorIs(t, err, controller.ErrNone)
	_, err = n.List(t.Context())
	require.ErrorIs(t, err, errAway)
}

// A node shows its standing and when it was seen; what has not changed is not written.
func TestShow(t *testing.T) {
	away := false
	n, c := newNodes(t, &away, runNode())
	read := func() *v1alpha1.RunNode {
		o := &v1alpha1.RunNode{}
		require.NoError(t, c.Get(t.Context(), client.ObjectKey{Name: "lab"}, o))
		return o
	}
	standing := node.Standing{Phase: node.Unjoined, Message: "its agent has not joined"}
	require.NoError(t, n.Show(t.Context(), "lab", controller.Shown{Standing: standing}))
	first := read()
	assert.Equal(t, "Unjoined", first.Status.Phase)
	assert.Len(t, first.Status.Conditions, 3)
	require.NoError(t, n.Show(t.Context(), "lab", controller.Shown{Standing: standing}))
	assert.Equal(t, first.ResourceVersion, read().ResourceVersion)
	proof := &node.Proof{Subject: "s", Differences: []conformance.Difference{{Check: "root", Found: "x"}}}
	require.NoError(t, n.Show(t.Context(), "lab", controller.Shown{Call: node.Call{Seen: now, Contract: "v1", Proof: proof}}))
	got, err := n.Get(t.Context(), "lab")
	require.NoError(t, err)
	assert.Equal(t, proof, got.Proof)
	require.NoError(t, n.Show(t.Context(), "lab", controller.Shown{Standing: standing}))
	seen := read()
	assert.Equal(t, "root", seen.Status.Conformance.Differences[0].Check, "what is not shown stays")
	assert.True(t, seen.Status.Seen.Equal(&seen.Status.Conditions[0].LastTransitionTime))
	assert.Equal(t, "v1 Unjoined", seen.Status.Contract+" "+seen.Status.Phase)
	require.NoError(t, n.Show(t.Context(), "lab", controller.Shown{Call: node.Call{Seen: now, Contract: "v1"}}))
	assert.Nil(t, read().Status.Conformance, "an agent that has not tested itself any more")
}

// Orders, labels and permissions of a person reach the rules, and what was stored by a controller that knew more than this
// one is not taken for a permission.
func TestSpecs(t *testing.T) {
	fails := func(o *v1alpha1.RunNode) {
		o.State.Key, o.Spec.Key = "k", "k"
		o.Status.Conformance.Differences = []v1alpha1.RunNodeDifference{{Check: "root", Found: "x"}}
	}
	tests := map[string]struct {
		why    string
		change func(*v1alpha1.RunNode)
		want   string
	}{
		"new":     {"no agent", func(*v1alpha1.RunNode) {}, node.Unjoined},
		"joined":  {"no person", func(o *v1alpha1.RunNode) { o.State.Key = "k" }, node.Pending},
		"adopted": {"it calls", func(o *v1alpha1.RunNode) { o.State.Key, o.Spec.Key = "k", "k" }, node.Ready},
		"anew":    {"another agent", func(o *v1alpha1.RunNode) { o.State.Key, o.Spec.Key = "j", "k" }, node.Pending},
		"beside":  {"another agent waits", func(o *v1alpha1.RunNode) { o.State.Key, o.State.Former, o.Spec.Key = "j", "k", "k" }, node.Ready},
		"replaced": {"its agent has not called", func(o *v1alpha1.RunNode) {
			o.State.Key, o.State.Former, o.Spec.Key, o.Status.Caller = "j", "k", "j", "k"
		}, node.Silent},
		"suspended": {"by a person", func(o *v1alpha1.RunNode) { o.State.Key, o.Spec.Key, o.Spec.Order = "k", "k", "Suspended" }, node.Suspended},
		"unproven":  {"no test", func(o *v1alpha1.RunNode) { o.State.Key, o.Spec.Key, o.Status.Conformance = "k", "k", nil }, node.Unproven},
		"differing": {"it fails a check", fails, node.Differing},
		"accepted": {"a person accepts that", func(o *v1alpha1.RunNode) {
			fails(o)
			o.Spec.Accepted = []string{"root"}
		}, node.Ready},
		"revoked": {"by a person", func(o *v1alpha1.RunNode) { o.Spec.Order = "Revoked" }, node.Revoked},
		"later":   {"a word of a later version", func(o *v1alpha1.RunNode) { o.State.Key, o.Spec.Key, o.Spec.Order = "k", "k", "Paused" }, node.Suspended},
		"silent": {"it does not call", func(o *v1alpha1.RunNode) {
			o.State.Key, o.Spec.Key, o.Status.Seen = "k", "k", nil
		}, node.Silent},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			away := false
			o := runNode()
			o.State = &v1alpha1.RunNodeState{}
			o.Status.Seen, o.Status.Conformance = &metav1.Time{Time: now}, &v1alpha1.RunNodeConformance{Subject: "s"}
			tc.change(o)
			n, _ := newNodes(t, &away, o)
			got, err := n.Get(t.Context(), "lab")
			require.NoError(t, err)
			assert.Equal(t, tc.want, got.Standing(now).Phase, tc.why)
		})
	}
}

// A write that the API server refuses names the RunNode, and is no other writer's.
func TestRefused(t *testing.T) {
	away := false
	c := cluster(t, &away, runNode())
	refusing := interceptor.NewClient(c, interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return errAway
		},
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return errAway
		},
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return errAway },
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error { return errAway },
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return errAway },
		Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			return errAway
		},
	})
	n := nodes.Nodes{Cache: c, Live: c, Writer: refusing, Clock: func() time.Time { return now }}
	err := n.Identify(t.Context(), "lab", "999", node.Identity{Key: "k"})
	require.ErrorIs(t, err, errAway)
	require.NotErrorIs(t, err, controller.ErrMoved)
	require.ErrorContains(t, n.Show(t.Context(), "lab", controller.Shown{Call: node.Call{Seen: now}}), "cannot write the status of RunNode lab: ")
	f := nodes.Offers{Cache: c, Live: c, Writer: refusing, Namespace: home}
	require.ErrorContains(t, f.Make(t.Context(), offer("lab")), "cannot offer attempt 1 of Run shop/deploy to RunNode lab: ")
	require.ErrorContains(t, f.Change(t.Context(), offer("lab")), "cannot change Lease orcon-system/job-offer-u-1: ")
	require.ErrorContains(t, f.Delete(t.Context(), attempt()), "cannot delete Lease orcon-system/job-offer-u-1: ")
	a := nodes.AuthoritySecret{Live: c, Writer: refusing, Namespace: home}
	err = a.Make(t.Context(), func() (certificate, key []byte, err error) { return []byte("c"), []byte("k"), nil })
	require.ErrorContains(t, err, "cannot make Secret orcon-system/job-node-authority: ")
}

// What a reader finds of an offer is what was stored, whatever the reason of its node has in it.
func TestReasons(t *testing.T) {
	away := false
	c := cluster(t, &away)
	f := nodes.Offers{Cache: c, Live: c, Writer: c, Namespace: home}
	for number, reason := range []string{"", "a \"quoted\" one", "two\nlines", "übel"} {
		o := offer("lab")
		o.Number, o.Obstacle = number+1, reason
		require.NoError(t, f.Make(t.Context(), o))
		got, there, err := f.Get(t.Context(), o.Name)
		require.NoError(t, err)
		assert.True(t, there)
		assert.Equal(t, reason, got.Obstacle)
	}
}

// A RunNode that cannot be read is not taken for one that is gone, whatever is done with it.
func TestAway(t *testing.T) {
	away := true
	n, _ := newNodes(t, &away, runNode())
	for _, err := range []error{
		n.Show(t.Context(), "lab", controller.Shown{Call: node.Call{Seen: now}}), n.Identify(t.Context(), "lab", "1", node.Identity{Key: "k"}),
	} {
		require.ErrorIs(t, err, errAway)
		require.NotErrorIs(t, err, controller.ErrNone)
		require.NotErrorIs(t, err, controller.ErrMoved)
	}
}
