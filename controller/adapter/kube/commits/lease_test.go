package commits

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

const day = 24 * time.Hour

// replicas are controllers of one cluster whose clocks differ. Pod pod-1 leads db in term 3 at first.
type replicas struct {
	ctx    context.Context
	server *kubetest.Strict
	all    []*Commits
	// now is the true time.
	now time.Time
	// step counts what is written.
	step int
}

// replicasOf returns replicas whose clocks are so far ahead of the true time.
func replicasOf(ctx context.Context, ahead ...time.Duration) *replicas {
	server, _ := shop()
	r := &replicas{ctx: ctx, server: server, now: kubetest.Epoch()}
	for _, by := range ahead {
		r.all = append(r.all, &Commits{Reader: server, Writer: server, Now: func() time.Time { return r.now.Add(by) }, Leases: &object.Leases{}})
	}
	return r
}

// lead has a unit request leadership of a replica, or resign, and returns the leader and whether the unit leads.
func (r *replicas) lead(t require.TestingT, at, unit int, resign bool) (leadership.Leader, bool) {
	pod := fmt.Sprintf("pod-%d", unit)
	leader, err := r.all[at].Lead(r.ctx, "shop", "db", unit, pod, resign)
	require.NoError(t, err)
	return leader, leader.Left(pod, r.all[at].Now()) > 0
}

// writes has pod-1 write its application's bag by a replica in term 3, and reports whether it may.
func (r *replicas) writes(t require.TestingT, at int) bool {
	r.step++
	_, err := r.all[at].Commit(r.ctx, kubetest.Commit(kubetest.Change("one", false, "step", fmt.Sprint(r.step))), nil)
	if errors.Is(err, transaction.ErrDeposed) {
		return false
	}
	require.NoError(t, err)
	return true
}

// A lease that a replica with a wrong clock has written keeps others from leading for 65 s, and not for a day
// (SAFETY.md P1). Its holder is told of 60 s at most, and who resigns is followed at once.
func TestLeaseOfAWrongClock(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"Ahead": day, "Behind": -day} {
		t.Run(name, func(t *testing.T) {
			r := replicasOf(t.Context(), ahead, 0)
			r.lead(t, 0, 1, true)
			_, leads := r.lead(t, 1, 1, false)
			require.True(t, leads, "who resigned is followed at once")
			r.now = r.now.Add(20 * time.Second)
			r.lead(t, 0, 1, false)
			leader, leads := r.lead(t, 1, 1, false)
			require.True(t, leads)
			assert.LessOrEqual(t, leader.Left("pod-1", r.now), time.Minute)
			r.lead(t, 0, 1, false)
			died := r.now
			for !r.now.After(died.Add(2 * time.Minute)) {
				if _, leads = r.lead(t, 1, 2, false); leads {
					break
				}
				r.now = r.now.Add(5 * time.Second)
			}
			require.True(t, leads, "it takes over from who died")
			assert.GreaterOrEqual(t, r.now.Sub(died), 65*time.Second)
		})
	}
}

// A leader that renews its lease stays, writes by any replica, and knows that it leads, whatever the clocks show
// (SAFETY.md P1).
func TestLeaderThatRenewsStays(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := replicasOf(t.Context(), drawClocks(rt)...)
		which := rapid.IntRange(0, len(r.all)-1)
		for range rapid.IntRange(1, 6).Draw(rt, "renewals") {
			leader, leads := r.lead(rt, which.Draw(rt, "renews"), 1, false)
			require.True(rt, leads)
			require.Equal(rt, 3, leader.Term)
			for range 4 {
				r.now = r.now.Add(5 * time.Second)
				_, leads := r.lead(rt, which.Draw(rt, "asks"), 2, false)
				require.False(rt, leads, "pod-1 renews its lease")
				require.True(rt, r.writes(rt, which.Draw(rt, "writes")), "pod-1 leads")
			}
		}
	})
}

// No other unit leads within the time that a write of the leader may take, whatever the clocks show
// (SAFETY.md P1, TRUST.md U1). In the end another one does.
func TestLastWriteOfALeader(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := replicasOf(t.Context(), drawClocks(rt)...)
		which, seconds := rapid.IntRange(0, len(r.all)-1), rapid.IntRange(0, 30)
		for range rapid.IntRange(1, 4).Draw(rt, "renewals") {
			r.lead(rt, which.Draw(rt, "renews"), 1, false)
			r.now = r.now.Add(time.Duration(seconds.Draw(rt, "pause")) * time.Second)
		}
		var last time.Time
		for range 60 {
			at := which.Draw(rt, "at")
			switch rapid.IntRange(0, 5).Draw(rt, "what") {
			case 0:
				if r.writes(rt, at) {
					last = r.now
				}
			default:
				if _, leads := r.lead(rt, at, 2, false); leads {
					require.GreaterOrEqual(rt, r.now.Sub(last), leadership.Margin)
					require.False(rt, r.writes(rt, at), "pod-1 leads no more")
					return
				}
			}
			r.now = r.now.Add(time.Duration(seconds.Draw(rt, "seconds")) * time.Second)
		}
		for range r.all {
			r.lead(rt, 0, 2, false)
			r.now = r.now.Add(66 * time.Second)
		}
		_, leads := r.lead(rt, 0, 2, false)
		require.True(rt, leads)
	})
}

// A lease of a store that went back, as after a restore, runs out too (TRUST.md T6).
func TestLeaseOfARestoredStore(t *testing.T) {
	r := replicasOf(t.Context(), 0)
	before := object.Named(&v1alpha1.RelatedApplication{}, "shop", "db")
	require.NoError(t, r.server.Get(t.Context(), client.ObjectKeyFromObject(before), before))
	for range 3 {
		r.now = r.now.Add(20 * time.Second)
		r.lead(t, 0, 1, false)
	}
	r.server.Kept.Put(before)
	for range 13 {
		_, leads := r.lead(t, 0, 2, false)
		require.False(t, leads)
		r.now = r.now.Add(5 * time.Second)
	}
	_, leads := r.lead(t, 0, 2, false)
	require.True(t, leads)
}

// drawClocks draws how far the clocks of three replicas are ahead: never so that two write one time at two times.
func drawClocks(t *rapid.T) []time.Duration {
	ahead := []time.Duration{0, time.Second, -40 * time.Second, 40 * time.Second, 70 * time.Second, -day, day}
	for i := range ahead {
		ahead[i] += time.Duration(i) * time.Millisecond
	}
	draw := rapid.SampledFrom(ahead)
	return []time.Duration{0, draw.Draw(t, "ahead"), draw.Draw(t, "ahead")}
}
