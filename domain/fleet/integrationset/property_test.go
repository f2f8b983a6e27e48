package integrationset

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// world carries out decisions in memory.
type world struct {
	Situation
	members map[Key]Standing
}

func (w *world) look() Situation {
	s := w.Situation
	s.Standing = slices.Collect(maps.Values(w.members))
	return s
}

func (w *world) carryOut(step Step) {
	if step.Verb == Delete {
		delete(w.members, step.Key)
		return
	}
	for _, wanted := range w.Wanted {
		if wanted.Key == step.Key {
			w.members[step.Key] = Standing{
				Key: step.Key, Digest: wanted.Digest, Workloads: wanted.Workloads, State: UnderWay, Own: wanted.Own,
			}
		}
	}
}

func (w *world) unready() (n int) {
	for _, m := range w.members {
		if m.State != Ready {
			n++
		}
	}
	return n
}

func drawWorld(t *rapid.T) *world {
	digests, workloads := rapid.SampledFrom([]string{"1", "2"}), rapid.IntRange(0, 3)
	w := &world{members: map[Key]Standing{}}
	w.Guard = Guard{Workloads: rapid.IntRange(0, 4).Draw(t, "guard"), Percent: rapid.IntRange(0, 100).Draw(t, "percent")}
	w.MaxUnavailable = rapid.IntRange(0, 3).Draw(t, "max unavailable")
	own := Key{rapid.SampledFrom([]string{"a", "c", "none"}).Draw(t, "own"), "m"}
	for _, k := range []Key{{"a", "n"}, {"a", "m"}, {"b", "n"}, {"b", "m"}, {"", "n"}, {"c", "m"}} {
		if rapid.Bool().Draw(t, "wanted") {
			w.Wanted = append(w.Wanted, Wanted{
				k, digests.Draw(t, "digest"), workloads.Draw(t, "workloads"), rapid.IntRange(0, 2).Draw(t, "wave"),
				k == own && rapid.IntRange(0, 3).Draw(t, "moves") > 0, "",
			})
		}
		if rapid.Bool().Draw(t, "standing") {
			w.members[k] = Standing{
				Key: k, Digest: digests.Draw(t, "digest"), Workloads: workloads.Draw(t, "workloads"),
				State: rapid.SampledFrom([]State{UnderWay, Ready, Stalled}).Draw(t, "state"), Own: k == own,
			}
		}
	}
	return w
}

// A set comes to what the data declare, however often its process dies between two writes: nothing goes without a
// confirmation that the guard asks for, one confirmation is enough, and neither the order of waves nor the bound of
// unavailable members is ever broken.
func TestConverges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		confirmations := 0
		for round := 0; ; round++ {
			require.Less(t, round, 100)
			d := Decide(w.look())
			if d.Removal != nil {
				confirmations++
				w.Confirmed = d.Removal.Losses
			}
			if len(d.Steps) == 0 && len(d.Waits) == 0 && w.unready() == 0 {
				break
			}
			before := max(w.unready(), w.MaxUnavailable)
			for _, step := range d.Steps[:rapid.IntRange(0, len(d.Steps)).Draw(t, "writes before it dies")] {
				w.carryOut(step)
				if w.MaxUnavailable > 0 {
					require.LessOrEqual(t, w.unready(), before)
				}
			}
			for k, m := range w.members {
				if rapid.Bool().Draw(t, "becomes ready") {
					m.State = Ready
					w.members[k] = m
				}
			}
		}
		require.LessOrEqual(t, confirmations, 1)
		require.Len(t, w.members, len(w.Wanted))
		for _, wanted := range w.Wanted {
			require.Equal(t, wanted.Digest, w.members[wanted.Key].Digest)
		}
	})
}

// A member of a later wave is only made or changed when all earlier ones are as declared and ready.
func TestWavesAreInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		waves := map[Key]int{}
		for _, wanted := range w.Wanted {
			waves[wanted.Key] = wanted.Wave
		}
		for _, step := range Decide(w.look()).Steps {
			for _, wanted := range w.Wanted {
				m, stands := w.members[wanted.Key]
				done := stands && m.Digest == wanted.Digest && m.State == Ready
				require.False(t, step.Verb != Delete && wanted.Wave < waves[step.Key] && !done, "%v before %v", step, wanted.Key)
			}
		}
	})
}

// The member as which the controller itself runs is neither deleted nor moved, and loses no workload, unless a person has
// confirmed that: whatever the guard allows (FLEET.md O6).
func TestOwnWorkloadStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		w.Ending = rapid.Bool().Draw(t, "ending")
		if w.Ending {
			w.Wanted = nil
		}
		w.Guard = Guard{Workloads: 1000, Percent: rapid.IntRange(0, 100).Draw(t, "roomy percent")}
		if others := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), rapid.ID).Draw(t, "confirmed"); len(others) > 0 {
			w.Confirmed = map[Key]int{}
			for _, integration := range others {
				w.Confirmed[Key{integration, "m"}] = rapid.IntRange(0, 3).Draw(t, "of them")
			}
		}
		for _, step := range Decide(w.look()).Steps {
			before := w.members[step.Key]
			if !before.Own {
				continue
			}
			of, confirmed := w.Confirmed[step.Key]
			w.carryOut(step)
			after, stays := w.members[step.Key]
			lost := before.Workloads - after.Workloads
			if !stays || !after.Own {
				require.True(t, confirmed, "%v", step)
				require.GreaterOrEqual(t, of, before.Workloads)
			} else if lost > 0 {
				require.True(t, confirmed, "%v", step)
				require.GreaterOrEqual(t, of, lost)
			}
		}
	})
}
