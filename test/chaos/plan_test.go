package chaos_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/test/chaos"
)

// shares draws what a round consists of.
func shares(t *rapid.T) []chaos.Share {
	kinds := []chaos.Kind{chaos.AgentKilled, chaos.AgentCut, chaos.EtcdKilled, chaos.RelationEnded}
	all := make([]chaos.Share, 0, len(kinds))
	for _, k := range kinds {
		all = append(all, chaos.Share{Kind: k, Times: rapid.IntRange(1, 9).Draw(t, string(k))})
	}
	return all
}

// steps returns the first steps of a plan.
func steps(seed uint64, n int, of []chaos.Share) []chaos.Step {
	plan := chaos.NewPlan(seed, of...)
	all := make([]chaos.Step, 0, n)
	for range n {
		all = append(all, plan.Next())
	}
	return all
}

// A seed gives the same steps each time, and each round has each kind as often as its share says.
func TestPlanIsRepeatable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of, seed := shares(t), rapid.Uint64().Draw(t, "seed")
		round := chaos.Round(of)
		all := steps(seed, 3*round, of)
		require.Equal(t, all, steps(seed, 3*round, of))
		for i := range 3 {
			counts := map[chaos.Kind]int{}
			for _, s := range all[i*round : (i+1)*round] {
				counts[s.Kind]++
				require.GreaterOrEqual(t, s.Target, 0)
				require.GreaterOrEqual(t, s.Hold, 0.0)
				require.Less(t, s.Hold, 1.0)
			}
			for _, share := range of {
				require.Equal(t, share.Times, counts[share.Kind], share.Kind)
			}
		}
	})
}

// Another seed gives another order.
func TestPlansDiffer(t *testing.T) {
	of := []chaos.Share{{Kind: chaos.AgentKilled, Times: 20}, {Kind: chaos.AgentCut, Times: 20}}
	assert.NotEqual(t, steps(1, 40, of), steps(2, 40, of))
}

func TestTally(t *testing.T) {
	tally := &chaos.Tally{}
	for _, k := range []chaos.Kind{chaos.AgentKilled, chaos.RelationEnded, chaos.AgentKilled, chaos.EtcdKilled} {
		tally.Seen(k)
	}
	assert.Equal(t, 2, tally.Count(chaos.AgentKilled))
	assert.Equal(t, 3, tally.Faults(), "an end is no fault")
	assert.Equal(t, "     3 faults\n     2 agent killed\n     1 etcd killed\n     1 relation ended", tally.String())
}

// The steps of a plan come at each moment of a run, and each outage ends.
func TestMoments(t *testing.T) {
	seen := map[chaos.Moment]int{}
	for _, s := range steps(1, 700, []chaos.Share{{Kind: chaos.KeeperKilled, Times: 1}}) {
		moment, after := s.Moment()
		seen[moment]++
		assert.Less(t, after, time.Second)
		assert.Greater(t, s.Outage(time.Second), 200*time.Millisecond-1)
		assert.LessOrEqual(t, s.Outage(time.Second), time.Second)
	}
	assert.Len(t, seen, int(chaos.Concluded)+1)
	for moment, n := range seen {
		assert.Greater(t, n, 50, moment)
	}
}
