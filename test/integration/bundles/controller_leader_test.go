package bundles

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
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

// The time of a revision does not begin anew with each leader: one that waits fails in the first turn after its deadline,
// although each leader dies after two seconds, or after its first turn if that takes longer (BUNDLES.md 6 and 8).
func TestDeploymentFailsWhoeverLeads(t *testing.T) {
	t.Parallel()
	const deadline = 10 * time.Second
	w := newOperated(t)
	d := w.bundle(strings.ReplaceAll(broken, "progressDeadlineSeconds: 2", "progressDeadlineSeconds: 600"))
	d.Spec.Rollback.ProgressDeadline = &metav1.Duration{Duration: deadline}
	require.NoError(t, w.admin.Create(w.ctx, d))
	var turns []time.Time
	var began, failed time.Time // began is what the last look shows: a pod that comes late is progress
	fails := func() bool {
		require.NoError(t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(d), d))
		if waits := d.Status.Waits; len(waits) == 1 && waits[0].StartTime != nil {
			began = waits[0].StartTime.Time
		}
		c := meta.FindStatusCondition(d.Status.Conditions, "Degraded")
		if c == nil || c.Status != metav1.ConditionTrue {
			return false
		}
		failed = c.LastTransitionTime.Time
		return true
	}
	leaders := 0
	controlplane.Eventually(t, func() bool {
		leaders++
		turns = append(turns, w.leads(2*time.Second, fails)...)
		return fails()
	}, 3*soon, "it fails")
	turns = slices.DeleteFunc(turns, func(turn time.Time) bool { return turn.Before(began.Add(deadline + time.Second)) })
	t.Logf("failed %s after it began to wait, with a deadline of %s: %d turns began after it, with leader %d",
		failed.Sub(began), deadline, len(turns), leaders)
	require.False(t, began.IsZero(), "it waits for a time that is shown")
	assert.Greater(t, leaders, 1)
	assert.GreaterOrEqual(t, failed.Sub(began), deadline-time.Second, "conditions have whole seconds")
	assert.LessOrEqual(t, len(turns), 1, "and so have waits")
	assert.Contains(t, w.ready(d, "Failed"), "no progress for "+deadline.String())
}

// leads reconciles the deployment by a controller that dies after a time, but not in its first turn: on a slow machine no
// turn would ever end. It returns the start of each turn that succeeded, up to one after which it is over: what has failed
// is looked at again.
func (w *operated) leads(life time.Duration, over func() bool) (turns []time.Time) {
	w.t.Helper()
	r, ctx := w.mortal(-1)
	mortal, die := context.WithTimeout(ctx, life)
	defer die()
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: w.namespace, Name: "shop"}}
	for ; len(turns) == 0 || mortal.Err() == nil; ctx = mortal {
		began := time.Now()
		result, err := r.Reconcile(ctx, request)
		if err == nil {
			turns = append(turns, began)
		}
		if err == nil && (result.RequeueAfter == 0 || over()) {
			return turns
		}
		select {
		case <-mortal.Done():
			return turns
		case <-time.After(max(r.Pause, result.RequeueAfter)):
		}
	}
	return turns
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
