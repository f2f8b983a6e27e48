package jobsapi_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/jobsapi"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// accept is a person's decision to go on from the current generation.
func accept(w workspace.Workspace) (workspace.Workspace, error) {
	return w.Decide(workspace.Verdict{Remedy: workspace.AcceptGeneration, Fence: w.Last.Fence, Seen: w.State.Number, By: "ann"})
}

// messages returns all messages of a run by a pod whose fence is known, in order.
func messages(c *jobsapi.Client, run, pod string, fence, base int64) []func() error {
	ctx := context.Background()
	claimant := keeper.Claimant{Run: run, Attempt: 1, Place: pod}
	holder := keeper.Holder{Claimant: claimant, Fence: fence}
	name := func(n int) string { return fmt.Sprint(run, pod, n) }
	all := []func() error{
		func() error { _, err := c.Claim(ctx, claimant); return err },
		func() error { _, err := c.Renew(ctx, holder, job.Delay{}); return err },
	}
	for n := 1; n <= 3; n++ {
		s := archive(fence, name(n))
		all = append(all, func() error { return c.Put(ctx, s.Blob, strings.NewReader(name(n))) })
		if n < 3 {
			all = append(all, func() error { return c.Checkpoint(ctx, holder, keeper.Checkpoint{Sequence: int64(n), State: s}) })
			continue
		}
		e := keeper.End{Outcome: job.Committed, Base: base, State: &s, Process: exchange.Ended{Ran: true}}
		all = append(all, func() error { return c.End(ctx, holder, e) })
	}
	return all
}

// committed checks the lineage of all values that a Workspace had: generations rise by one, each once, by one fence.
func committed(t require.TestingT, history []workspace.Workspace) int {
	n, fences := int64(0), map[int64]bool{}
	for _, w := range history {
		if w.State.Number == n {
			continue
		}
		require.Equal(t, n+1, w.State.Number, "JOBS.md J3")
		require.Equal(t, n, w.State.Base, "JOBS.md J3")
		require.False(t, fences[w.State.Fence], "JOBS.md J3: fence %d committed twice", w.State.Fence)
		fences[w.State.Fence] = true
		n = w.State.Number
	}
	return int(n)
}

// JOBS.md J3, J8 and J10: two pods of one Run send every message any number of times in any order; what is due then
// comes in order. One of them commits, once, and the other one starts nothing.
func TestAnyOrder(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		b := newBench(t)
		sets := [][]func() error{messages(b.client(r, "r", "p"), "r", "p", 1, 0), messages(b.client(r, "r", "q"), "r", "q", 1, 0)}
		for range rapid.IntRange(0, 40).Draw(r, "messages") {
			set := sets[rapid.IntRange(0, 1).Draw(r, "pod")]
			_ = set[rapid.IntRange(0, len(set)-1).Draw(r, "message")]()
		}
		var refused int
		for _, set := range sets {
			for _, send := range set {
				err := send()
				if errors.Is(err, keeper.ErrConflict) {
					refused++
					break
				}
			}
		}
		assert.Equal(r, 1, committed(r, b.History("w")))
		assert.LessOrEqual(r, refused, 1)
		w := b.Workspace("w")
		assert.False(r, w.Lock.Held())
		assert.Equal(r, job.Committed, w.Last.Outcome)
		before := len(b.History("w"))
		for _, set := range sets {
			for _, send := range set {
				_ = send()
			}
		}
		assert.Len(r, b.History("w"), before, "JOBS.md J8: a replay changes nothing")
	})
}

// JOBS.md J3, J8 and J9: the server dies after any of its writes, without an answer; the keeper repeats. The end is the
// same as if it had not died, also if it dies after every other write by chance.
func TestServerDies(t *testing.T) {
	const runs = 2
	all := func(b *bench) {
		for i := range runs {
			run := fmt.Sprint("r", i)
			if i == 0 {
				run = "r"
			} else {
				b.admit(t, run)
			}
			for _, send := range messages(b.client(t, run, "p"+run), run, "p"+run, int64(i+1), int64(i)) {
				require.NoError(t, insist(send))
			}
		}
	}
	writes := 0
	plain := newBench(t)
	plain.die = func() bool { writes++; return false }
	all(plain)
	require.GreaterOrEqual(t, writes, 8*runs, "claims, archives, records, checkpoints, reports and ends")
	died := 0
	for at := 1; at <= writes+1; at++ {
		b := newBench(t)
		n := 0
		b.die = func() bool {
			n++
			if n == at || at == writes+1 && rand.N(2) == 0 {
				died++
				return true
			}
			return false
		}
		all(b)
		require.Equal(t, runs, committed(t, b.History("w")), "dies after write %d", at)
		got, want := b.Workspace("w"), plain.Workspace("w")
		require.Equal(t, want.State, got.State, "dies after write %d", at)
		require.Equal(t, want.Last, got.Last)
		require.Empty(t, got.Orphans)
	}
	require.GreaterOrEqual(t, died, writes)
	t.Logf("%d runs, %d deaths between writes", runs*(writes+1), died)
}
