package jobs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/jobs"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
)

// The API server takes a state that is made of a cached one as long as the stored state is the same, whatever else was
// written meanwhile (JOBS.md J3).
func TestSwapOfACachedState(t *testing.T) {
	t.Parallel()
	w := newWorld(t, count)
	w.run("one")
	w.reaches("one", "Ready Succeeded: it succeeded; its state is committed")
	w.stop()
	o := &v1alpha1.JobWorkspace{}
	require.NoError(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "db"}, o))
	port := jobs.Workspaces{Objects: jobs.Objects{Cache: indexed{w.client}, Live: w.client}, Writer: w.client}
	cached, err := port.Recent(t.Context(), string(o.UID))
	require.NoError(t, err)

	before := o.DeepCopy()
	o.Status.Phase, o.Annotations = "NeedsAccept", map[string]string{"example.com/by": "ann"}
	require.NoError(t, w.client.Patch(t.Context(), o.DeepCopy(), client.MergeFrom(before)))
	require.NoError(t, w.client.Status().Patch(t.Context(), o, client.MergeFrom(before)))
	next := cached.Workspace
	next.Fence++
	require.NoError(t, port.Swap(t.Context(), string(o.UID), cached.Version, next))

	require.ErrorIs(t, port.Swap(t.Context(), string(o.UID), cached.Version, next), serve.ErrMoved)
	stored, err := port.Get(t.Context(), string(o.UID))
	require.NoError(t, err)
	assert.Equal(t, next, stored.Workspace)
}
