package workspace_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	. "gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace" //nolint:revive // the tests speak the words of the room
)

// crowd returns a Workspace with so many orphans, whose lock Run r has with fence 5000. Those that discarded chooses are.
func crowd(n int, discarded func(int) bool) Workspace {
	w := Workspace{Name: "ns/w", Fence: 5000, State: Generation{Number: 3, Blob: Blob{Digest: "g", Key: "g", Fence: 4000}}}
	w.Lock = Lock{
		Run: Run{UID: "r", Name: "r"}, Attempt: 1, Fence: 5000, Base: 3, Claimant: Claimant{ID: "p"}, Safety: job.Idempotent,
		Timing: job.DefaultTiming(),
	}
	w.Checkpoint = Checkpoint{Blob: Blob{Digest: "c", Key: "c", Fence: 5000}, Sequence: 1}
	for i := range n {
		name := fmt.Sprint("o", i)
		w.Orphans = append(w.Orphans, Orphan{
			Blob: Blob{Digest: name, Key: name, Fence: int64(i + 1)}, Discarded: discarded(i), Since: time.Unix(int64(i), 0),
		})
	}
	return w
}

// undecided returns the keys of orphans that wait for a decision.
func undecided(w Workspace) (keys []string) {
	for _, o := range w.Orphans {
		if !o.Discarded {
			keys = append(keys, o.Key)
		}
	}
	return keys
}

// bring is one of the ways in which orphans come and go. It returns the archives that must not be lost, and the one that
// a person decides about.
func bring(r *rapid.T, w Workspace) (next Workspace, brought []string, decided string, err error) {
	fresh := Blob{Digest: "new", Key: "new", Fence: 5000}
	at, now := fmt.Sprint("o", rapid.IntRange(0, MaxOrphans).Draw(r, "orphan")), time.Unix(9999, 0)
	choices := []string{"stale", "orphaned", "expire", "accept", "orphan", "checkpoint", "retry", "discard", "store"}
	switch choice := rapid.SampledFrom(choices).Draw(r, "way"); choice {
	case "stale":
		fresh.Fence = 4999
		next, _, err = w.End(Capture{Run: Run{UID: "x"}, Fence: 4999, Outcome: job.Committed, Blob: fresh, Now: now})
		if errors.Is(err, ErrStale) {
			err = nil // it is stored
		}
		return next, []string{"new"}, "", err
	case "orphaned":
		next, _, err = w.End(Capture{Run: w.Lock.Run, Fence: 5000, Base: 3, Outcome: job.Orphaned, Blob: fresh, Now: now})
		return next, []string{"new"}, "", err
	case "expire":
		next, err = w.Expire(Evidence{Fence: 5000, Silence: time.Hour, Uploaded: fresh, Now: now})
		return next, []string{"new", "c"}, "", err
	case "store":
		e := Extent{Fence: 6000, Generation: 9}
		next, err = w.AcceptStore(Restored{Newest: Blob{Digest: "n", Key: "n", Fence: 6000}, By: "ann", Extent: e, Uploaded: fresh, Now: now})
		return next, []string{"new", "c", "n"}, "", err
	default:
		w.Lock.Recovery = Recovery{Reason: Silent}
		remedies := map[string]Remedy{
			"accept": AcceptGeneration, "orphan": AcceptOrphan, "checkpoint": AcceptCheckpoint, "retry": Retry, "discard": Discard,
		}
		next, err = w.Decide(Verdict{Remedy: remedies[choice], Fence: 5000, Seen: 3, Orphan: at, By: "ann", Uploaded: fresh, Now: now})
		if choice == "discard" {
			return next, nil, at, err
		}
		return next, []string{"new", "c"}, at, err
	}
}

// JOBS.md J5 and J6: a Workspace never has more orphans than its kind allows, none that waits for a decision gives way to
// another one, and what does not fit is refused as waiting, with nothing changed.
func TestOrphansAreBounded(t *testing.T) {
	refused, fitted := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(MaxOrphans-4, MaxOrphans).Draw(r, "orphans")
		gone := rapid.SliceOfN(rapid.IntRange(0, n-1), 0, 3).Draw(r, "discarded")
		w := crowd(n, func(i int) bool { return slices.Contains(gone, i) })
		next, brought, decided, err := bring(r, w)
		require.LessOrEqual(r, len(next.Orphans), MaxOrphans)
		if err != nil {
			require.True(r, errors.Is(err, ErrWaits) || errors.Is(err, ErrInvalid), "%v", err)
			require.Equal(r, w.Orphans, next.Orphans)
			require.Equal(r, w.State, next.State)
			refused++
			return
		}
		fitted++
		for _, key := range append(undecided(w), brought...) {
			require.True(r, next.Names(key) || key == decided, "%s is lost", key)
		}
	})
	assert.Positive(t, refused)
	assert.Positive(t, fitted)
}

// JOBS.md J6: the oldest one that was discarded gives way first, and a hold begins only where what it may leave fits.
func TestCrowded(t *testing.T) {
	w := crowd(MaxOrphans, func(i int) bool { return i == 7 || i == 9 })
	stale := Capture{Run: Run{UID: "x", Name: "x"}, Fence: 4999, Outcome: job.Committed, Blob: Blob{Digest: "new", Key: "new", Fence: 4999}}
	w, _, err := w.End(stale)
	require.ErrorIs(t, err, ErrStale)
	assert.False(t, w.Names("o7"))
	assert.True(t, w.Names("o9"))
	assert.True(t, w.Names("new"))

	w.Lock = Lock{}
	require.ErrorIs(t, w.Startable(Extent{}), ErrWaits)
	require.ErrorContains(t, w.Startable(Extent{}), "1023 orphans wait for a decision: look at them with `orcon job state show ns/w`")
	assert.True(t, w.Crowded())
	assert.Equal(t, NeedsAccept, w.Phase(Extent{}))
	for n := 0; w.Crowded(); n++ {
		require.Less(t, n, 24)
		w, err = w.Decide(Verdict{Remedy: Discard, Orphan: fmt.Sprint("o", 100+n), Seen: 3, By: "ann"})
		require.NoError(t, err)
	}
	require.NoError(t, w.Startable(Extent{}), "it goes on by itself")
}
