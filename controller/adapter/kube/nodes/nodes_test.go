package nodes_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/nodes"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	controller "gitlab.ilabt.imec.be/tengu/orcon/controller/job/node"
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
	require.NoError(t, n.Show(t.Context(), "lab", controller.Shown{Seen: now, Contract: "v1"}))
	seen := read()
	assert.True(t, seen.Status.Seen.Equal(&seen.Status.Conditions[0].LastTransitionTime))
	assert.Equal(t, "v1 Unjoined", seen.Status.Contract+" "+seen.Status.Phase)
}
