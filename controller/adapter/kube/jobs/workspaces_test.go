package jobs

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// JOBS.md J3: a Workspace is written only over the version that was read, and by nothing else.
func TestSwap(t *testing.T) {
	template, w, r, p := shop(t)
	world := newWorld(t, template, w, r, p)
	port := Workspaces{Objects: world.objects(), Writer: world}
	before, err := port.Get(t.Context(), "w-uid")
	require.NoError(t, err)
	assert.Equal(t, "shop/network", before.Workspace.Name)
	assert.Equal(t, job.Idempotent, before.Workspace.Terms.Safety)
	held, err := before.Workspace.Acquire(workspace.Admission{Run: workspace.Run{UID: "r-uid", Name: "network-7"}, Now: time.Unix(9, 0)})
	require.NoError(t, err)
	require.NoError(t, port.Swap(t.Context(), "w-uid", before.Version, held))
	after, err := port.Get(t.Context(), "w-uid")
	require.NoError(t, err)
	held.Lock.Since = held.Lock.Since.UTC()
	assert.Equal(t, held, after.Workspace)
	require.ErrorIs(t, port.Swap(t.Context(), "w-uid", before.Version, before.Workspace), serve.ErrMoved)
	again, err := port.Get(t.Context(), "w-uid")
	require.NoError(t, err)
	assert.Equal(t, after, again)

	var stored v1alpha1.JobWorkspace
	require.NoError(t, world.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "network"}, &stored))
	assert.Equal(t, "tofu", stored.Spec.Template, "all else stays")
}

// A recent Workspace is that of the cache alone; what is not there is an error that names it.
func TestRecent(t *testing.T) {
	template, w, _, _ := shop(t)
	live := newWorld(t, template, w)
	live.fault = errors.New("down")
	port := Workspaces{Objects: Objects{Cache: newWorld(t, template, w), Live: live}}
	recent, err := port.Recent(t.Context(), "w-uid")
	require.NoError(t, err)
	assert.Equal(t, "shop/network", recent.Workspace.Name)
	_, err = port.Get(t.Context(), "w-uid")
	require.ErrorIs(t, err, live.fault)
	_, err = port.Recent(t.Context(), "other")
	require.ErrorContains(t, err, "cannot read the JobWorkspace with UID other")
}

// What is made of a recent Workspace is stored although its status has changed, and refused when its state has.
func TestSwapRecent(t *testing.T) {
	template, w, _, _ := shop(t)
	w.State = &v1alpha1.JobWorkspaceState{Fence: 3}
	world := newWorld(t, template, w)
	port := Workspaces{Objects: world.objects(), Writer: world}
	recent, err := port.Recent(t.Context(), "w-uid")
	require.NoError(t, err)
	changed := w.DeepCopy()
	changed.Status.Phase = "Ready"
	require.NoError(t, world.Patch(t.Context(), changed, client.MergeFrom(w)))
	next := recent.Workspace
	next.Fence = 4
	require.NoError(t, port.Swap(t.Context(), "w-uid", recent.Version, next))
	world.refused = apierrors.NewGenericServerResponse(422, "patch", schema.GroupResource{}, "", "", 0, false)
	require.ErrorIs(t, port.Swap(t.Context(), "w-uid", recent.Version, next), serve.ErrMoved, "as the API server refuses it")
	stored, err := port.Get(t.Context(), "w-uid")
	require.NoError(t, err)
	assert.EqualValues(t, 4, stored.Workspace.Fence)
	require.NotErrorIs(t, port.Swap(t.Context(), "w-uid", stored.Version, next), serve.ErrMoved, "that is not about its version")
}

// A template that is not there, or cannot be used, counts as exclusive: nothing expires then (JOBS.md J6).
func TestSafety(t *testing.T) {
	template, w, _, _ := shop(t)
	template.Spec.Image = "a:latest"
	for _, world := range []*world{newWorld(t, w), newWorld(t, w, template)} {
		stored, err := Workspaces{Objects: world.objects()}.Get(t.Context(), "w-uid")
		require.NoError(t, err)
		assert.Equal(t, job.Exclusive, stored.Workspace.Terms.Safety)
	}
}

// A Workspace that is gone, and one that cannot be read, is an error that names it, and nothing is written.
func TestUnreadableWorkspace(t *testing.T) {
	_, w, _, _ := shop(t)
	w.State = &v1alpha1.JobWorkspaceState{Fence: 1, Lock: &v1alpha1.JobLock{Safety: "Brave"}}
	world := newWorld(t, w)
	port := Workspaces{Objects: world.objects(), Writer: world}
	_, err := port.Get(t.Context(), "w-uid")
	require.ErrorContains(t, err, "cannot read JobWorkspace shop/network: state.lock")
	_, err = port.Get(t.Context(), "other")
	require.ErrorContains(t, err, "UID other")
	require.ErrorContains(t, port.Swap(t.Context(), "other", "1", workspace.Workspace{}), "UID other")
}

// The object that a cache names may be another one meanwhile.
func TestReplacedWorkspace(t *testing.T) {
	template, w, _, _ := shop(t)
	newer := w.DeepCopy()
	newer.UID = "newer"
	port := Workspaces{Objects: Objects{Cache: newWorld(t, template, w), Live: newWorld(t, newer)}}
	_, err := port.Get(t.Context(), "w-uid")
	require.ErrorIs(t, err, errUnknown)
}

// A write whose answer is lost is no conflict: it may be done or not, and the caller reads again.
func TestSwapIsNotKnown(t *testing.T) {
	template, w, _, _ := shop(t)
	world := newWorld(t, template, w)
	port := Workspaces{Objects: world.objects(), Writer: world}
	before, err := port.Get(t.Context(), "w-uid")
	require.NoError(t, err)
	world.refused = errors.New("down")
	err = port.Swap(t.Context(), "w-uid", before.Version, before.Workspace)
	require.ErrorIs(t, err, world.refused)
	require.NotErrorIs(t, err, serve.ErrMoved)
	require.ErrorContains(t, err, "JobWorkspace shop/network")
	world.fault = errors.New("away")
	_, err = port.Get(t.Context(), "w-uid")
	require.ErrorIs(t, err, world.fault)
}

// A template that cannot be read at all makes no Workspace exclusive: that would last until it is read again.
func TestUnreadableTemplate(t *testing.T) {
	template, w, _, _ := shop(t)
	cache := newWorld(t, template, w)
	cache.fault = errors.New("down")
	_, err := Workspaces{Objects: Objects{Cache: cache, Live: newWorld(t, w)}}.Get(t.Context(), "w-uid")
	require.ErrorIs(t, err, cache.fault)
	require.ErrorContains(t, err, "JobTemplate shop/tofu")
}
