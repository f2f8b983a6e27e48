package bundles

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// The time of a revision does not begin anew with each leader: one that waits fails within 5 s of its deadline although no
// leader lives for more than two seconds (BUNDLES.md 6 and 8).
func TestDeploymentFailsWhoeverLeads(t *testing.T) {
	t.Parallel()
	const deadline = 10 * time.Second
	w := newOperated(t)
	d := w.bundle(strings.ReplaceAll(broken, "progressDeadlineSeconds: 2", "progressDeadlineSeconds: 600"))
	d.Spec.Rollback.ProgressDeadline = &metav1.Duration{Duration: deadline}
	require.NoError(t, w.admin.Create(w.ctx, d))
	var began, failed time.Time // of the first look that shows it
	controlplane.Eventually(t, func() bool {
		w.leads(2 * time.Second)
		require.NoError(t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(d), d))
		if waits := d.Status.Waits; began.IsZero() && len(waits) == 1 && waits[0].StartTime != nil {
			began = waits[0].StartTime.Time
		}
		c := meta.FindStatusCondition(d.Status.Conditions, "Degraded")
		if c == nil || c.Status != metav1.ConditionTrue {
			return false
		}
		failed = c.LastTransitionTime.Time
		return true
	}, 3*soon, "it fails")
	t.Logf("failed %s after it began to wait, with a deadline of %s", failed.Sub(began), deadline)
	require.False(t, began.IsZero(), "it waits for a time that is shown")
	assert.GreaterOrEqual(t, failed.Sub(began), deadline-time.Second, "conditions have whole seconds")
	assert.LessOrEqual(t, failed.Sub(began), deadline+5*time.Second)
	assert.Contains(t, w.ready(d, "Failed"), "no progress for "+deadline.String())
}

// leads gives the deployment reconciles by a controller that dies after a time.
func (w *operated) leads(life time.Duration) {
	w.t.Helper()
	r, _ := w.mortal(-1)
	ctx, die := context.WithTimeout(w.ctx, life)
	defer die()
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: w.namespace, Name: "shop"}}
	for ctx.Err() == nil {
		result, err := r.Reconcile(ctx, request)
		if err == nil && result.RequeueAfter == 0 {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(max(r.Pause, result.RequeueAfter)):
		}
	}
}

// A leader that dies on the way back leaves the rest of the way to the next one (BUNDLES.md 6
// and 8).
func TestControllerKilledOnTheWayBack(t *testing.T) {
	t.Parallel()
	const runs = 3
	first := newOperated(t)
	for seed := range uint64(runs) {
		w := first.another()
		random := rand.New(rand.NewPCG(seed, 0))
		d := w.bundle(blue + extra)
		require.NoError(t, w.admin.Create(w.ctx, d))
		w.killedWhileKeeping(rand.New(rand.NewPCG(0, 0)), d)
		w.source("content-shop", green+broken)
		request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: w.namespace, Name: "shop"}}
		for range 4 {
			r, ctx := w.mortal(2 + random.Int64N(9))
			for end := time.Now().Add(2 * time.Second); ctx.Err() == nil && time.Now().Before(end); {
				_, _ = r.Reconcile(ctx, request)
			}
		}
		r, ctx := w.mortal(-1)
		w.explained(d)
		controlplane.Eventually(t, func() bool {
			_, err := r.Reconcile(ctx, request)
			require.NoError(t, err, fmt.Sprint("seed ", seed))
			require.NoError(t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(d), d))
			return d.Status.HealthyRevision == 3
		}, soon, "seed %d: the way back ends", seed)
		assert.Equal(t, map[string]map[string]string{"colour": {"colour": "blue", "size": "3"}, "extra": {"a": "b"}}, w.made(), "seed %d", seed)
		assert.Contains(t, w.ready(d, "Quarantined"), "this content failed before (revision 2", "seed %d", seed)
	}
}

// explained logs the status of a deployment if the test fails.
func (w *operated) explained(d *v1alpha1.BundleDeployment) {
	w.t.Helper()
	w.t.Cleanup(func() {
		if w.t.Failed() {
			status, err := json.MarshalIndent(d.Status, "", " ")
			w.t.Logf("%s: %s %v", client.ObjectKeyFromObject(d), status, err)
		}
	})
}
