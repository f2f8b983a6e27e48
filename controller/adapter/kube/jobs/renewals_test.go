package jobs

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
)

// JOBS-DESIGN.md 2: renewals stand in Orcon's own namespace, one Lease for each Run.
func TestRenewals(t *testing.T) {
	world := newWorld(t)
	port := Renewals{Live: world, Writer: world, Namespace: "orcon-system"}
	last, err := port.Last(t.Context(), "r-uid")
	require.NoError(t, err)
	assert.Equal(t, serve.Renewal{Run: "r-uid"}, last)
	for _, n := range []int64{1 << 40, 1 << 41} {
		require.NoError(t, port.Renewed(t.Context(), serve.Renewal{Run: "r-uid", Fence: 3, Number: n, At: time.Unix(n>>20, 0), Delay: job.Delay{Stage: job.Carrying, Why: "full"}}))
		last, err = port.Last(t.Context(), "r-uid")
		require.NoError(t, err)
		assert.Equal(t, serve.Renewal{Run: "r-uid", Fence: 3, Number: n, Delay: job.Delay{Stage: job.Carrying, Why: "full"}}, last)
	}
	var all coordinationv1.LeaseList
	require.NoError(t, world.List(t.Context(), &all))
	require.Len(t, all.Items, 1)
	assert.Equal(t, "orcon-system", all.Items[0].Namespace)
	assert.Equal(t, "r-uid", *all.Items[0].Spec.HolderIdentity)
	assert.True(t, all.Items[0].Spec.RenewTime.Equal(&metav1.MicroTime{Time: time.Unix(1<<21, 0)}))

	all.Items[0].Annotations[annotationNumber] = "x"
	require.NoError(t, world.Update(t.Context(), &all.Items[0]))
	_, err = port.Last(t.Context(), "r-uid")
	require.ErrorContains(t, err, "cannot read the last renewal of Run r-uid")
}

// Leases of Runs that are not renewed for a day are deleted, and no others.
func TestSweep(t *testing.T) {
	now := time.Unix(1<<30, 0)
	foreign := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "orcon-system", Name: "relations-controller"}}
	world := newWorld(t, foreign)
	port := Renewals{Live: world, Writer: world, Namespace: "orcon-system"}
	for run, age := range map[string]time.Duration{"old": stale, "young": stale - time.Second} {
		require.NoError(t, port.Renewed(t.Context(), serve.Renewal{Run: run, Fence: 1, Number: 1, At: now.Add(-age)}))
	}
	require.NoError(t, port.Sweep(t.Context(), now))
	var all coordinationv1.LeaseList
	require.NoError(t, world.List(t.Context(), &all, client.InNamespace("orcon-system")))
	var names []string
	for _, lease := range all.Items {
		names = append(names, lease.Name)
	}
	assert.ElementsMatch(t, []string{"job-run-young", "relations-controller"}, names)
}

// What cannot be written is no renewal, and what cannot be deleted holds nothing else back.
func TestRenewalsLater(t *testing.T) {
	world := newWorld(t)
	port := Renewals{Live: world, Writer: world, Namespace: "orcon-system"}
	old := serve.Renewal{Run: "r-uid", Fence: 3, Number: 1, At: time.Unix(1, 0)}
	world.refused = errors.New("down")
	require.ErrorIs(t, port.Renewed(t.Context(), old), world.refused)
	world.refused = nil
	require.NoError(t, port.Renewed(t.Context(), old))

	world.refused = errors.New("down")
	err := port.Sweep(t.Context(), time.Unix(1<<30, 0))
	require.ErrorIs(t, err, world.refused)
	require.ErrorContains(t, err, "Lease orcon-system/job-run-r-uid")
	group := schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	for _, renewed := range []error{apierrors.NewConflict(group, "r-uid", errors.New("renewed")), apierrors.NewNotFound(group, "r-uid")} {
		world.refused = renewed
		require.NoError(t, port.Sweep(t.Context(), time.Unix(1<<30, 0)))
	}
	world.fault = errors.New("away")
	_, err = port.Last(t.Context(), "r-uid")
	require.ErrorIs(t, err, world.fault)
}
