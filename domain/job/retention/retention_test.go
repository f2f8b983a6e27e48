package retention_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/retention"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

//nolint:gochecknoglobals // a time that all tests share
var now = time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)

func at(fence int64) workspace.Blob { return workspace.Blob{Digest: "d", Key: "k", Fence: fence} }

// A fence's archives go only if nothing names them, and nothing may still come (JOBS.md J5 and J20).
func TestSweep(t *testing.T) {
	old := func(fences ...int64) (all []retention.Prefix) {
		for _, fence := range fences {
			all = append(all, retention.Prefix{Fence: fence, Newest: now.Add(-retention.Age)})
		}
		return all
	}
	w := workspace.Workspace{
		Fence: 9, State: workspace.Generation{Number: 3, Blob: at(5)}, Kept: []workspace.Generation{{Blob: at(2)}},
		Checkpoint: workspace.Checkpoint{Blob: at(6)},
		Orphans:    []workspace.Orphan{{Blob: at(3)}, {Blob: at(4), Discarded: true}},
		Lock:       workspace.Lock{Fence: 8},
		Plan:       workspace.Plan{Blob: at(7)},
	}
	known := workspace.Extent{Fence: 9, Generation: 3}
	assert.Equal(t, []int64{1, 4}, retention.Sweep(w, known, old(9, 8, 7, 6, 5, 4, 3, 2, 1), now))
	assert.Equal(t, []int64{2, 3, 5, 6, 7}, retention.Named(w))
	assert.Empty(t, retention.Sweep(w, workspace.Extent{Fence: 10}, old(1, 10), now), "the store is ahead")
	assert.Empty(t, retention.Sweep(w, workspace.Extent{Generation: 4}, old(1), now), "a newer generation, after a restore")
	assert.Empty(t, retention.Sweep(w, known, []retention.Prefix{{Fence: 1, Logs: true}}, now), "logs that are kept")
	crowded := w
	for i := range workspace.MaxOrphans {
		crowded.Orphans = append(crowded.Orphans, workspace.Orphan{Blob: at(int64(i + 10))})
	}
	assert.Empty(t, retention.Sweep(crowded, known, old(1), now), "an archive may wait for room")
	young := []retention.Prefix{{Fence: 1, Newest: now.Add(time.Second - retention.Age)}}
	assert.Empty(t, retention.Sweep(w, known, young, now), "a late holder may still upload")
}

// Ten Runs stay. What is not stored yet stays too, and so does the last end, from which a status is derived.
func TestRuns(t *testing.T) {
	var ended []retention.Ended
	for i := range 14 {
		ended = append(ended, retention.Ended{UID: string(rune('a' + i)), Ended: now.Add(time.Duration(i) * time.Hour), Drained: i != 1, Last: i == 2})
	}
	assert.Equal(t, []string{"a", "d"}, retention.Runs(ended, 0))
	assert.Equal(t, []string{"a"}, retention.Runs(ended, 11))
	assert.Empty(t, retention.Runs(ended, 20))
}

// Logs go by number and by age, but never those of the last Run (JOBS.md J11).
func TestLogs(t *testing.T) {
	var manifests []retention.Manifest
	for i := range 5 {
		manifests = append(manifests, retention.Manifest{Fence: int64(10 + 2*i), Stored: now.Add(time.Duration(i-5) * time.Hour)})
	}
	tests := map[string]struct {
		why  string
		keep int
		age  time.Duration
		want int64
	}{
		"Defaults": {why: "a hundred are kept, for ever"},
		"Number":   {why: "fence 13 is an attempt of the run of fence 14, and stays", keep: 3, want: 12},
		"One":      {why: "the last one stays", keep: 1, want: 16},
		"Age":      {why: "two ended more than three and a half hours ago", age: 3*time.Hour + 30*time.Minute, want: 12},
		"Old":      {why: "all are too old, and the last one stays", age: time.Minute, want: 16},
		"Both":     {why: "the stricter one counts", keep: 4, age: 2 * time.Hour, want: 14},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			assert.Equal(t, tc.want, retention.Logs(manifests, tc.keep, tc.age, now), tc.why)
		})
	}
	assert.Zero(t, retention.Logs(nil, 1, time.Second, now))
}

// Below a fence that stays, archives go that nothing refers to (JOBS.md J5).
func TestArchives(t *testing.T) {
	blob := func(fence int64, key string) workspace.Blob {
		return workspace.Blob{Digest: "d", Key: key, Fence: fence}
	}
	w := workspace.Workspace{
		Fence: 4, State: workspace.Generation{Number: 2, Blob: blob(3, "current")}, Kept: []workspace.Generation{{Number: 1, Blob: blob(1, "kept")}},
		Orphans: []workspace.Orphan{{Blob: blob(2, "orphan")}, {Blob: blob(2, "discarded"), Discarded: true}},
		Plan:    workspace.Plan{Blob: blob(1, "plan")},
	}
	at := func(fence int64, key string, age time.Duration) retention.Archive {
		return retention.Archive{Key: key, Fence: fence, Stored: now.Add(-age)}
	}
	old := retention.Age
	all := []retention.Archive{
		at(1, "kept", old), at(1, "checkpoint", old), at(1, "plan", old), at(1, "old plan", old), at(2, "orphan", old), at(2, "discarded", old), at(3, "current", old),
		at(3, "late", old-time.Second), at(4, "under way", old),
	}
	assert.Equal(t, []string{"checkpoint", "old plan", "discarded"}, retention.Archives(w, workspace.Extent{}, all, now))
	assert.Empty(t, retention.Archives(w, workspace.Extent{Fence: 5}, all, now), "the store is ahead")
	assert.Empty(t, retention.Archives(workspace.Workspace{}, workspace.Extent{Left: 1}, all, now), "no person has decided about an earlier state")
}

// Whatever a Workspace is, no archive is deleted that it refers to, or that is young (JOBS.md J5).
func FuzzArchives(f *testing.F) {
	f.Add(int64(4), int64(3), int64(2), int64(1), int64(0), uint8(3))
	f.Fuzz(func(t *testing.T, fence, current, kept, orphan, held int64, bits uint8) {
		key := func(fence int64) workspace.Blob {
			return workspace.Blob{Digest: "d", Key: fmt.Sprint("k", fence), Fence: fence}
		}
		w := workspace.Workspace{
			Fence: fence, State: workspace.Generation{Number: 1, Blob: key(current)}, Kept: []workspace.Generation{{Blob: key(kept)}},
			Orphans: []workspace.Orphan{{Blob: key(orphan), Discarded: bits&1 > 0}}, Lock: workspace.Lock{Fence: held},
		}
		var all []retention.Archive
		for _, fence := range []int64{fence, current, kept, orphan, held, fence - 1} {
			all = append(all, retention.Archive{Key: key(fence).Key, Fence: fence, Stored: now.Add(-time.Duration(bits) * time.Hour)})
		}
		for _, gone := range retention.Archives(w, workspace.Extent{Fence: int64(bits)}, all, now) {
			require.NotContains(t, []string{key(fence).Key, key(current).Key, key(kept).Key, key(held).Key}, gone)
			require.GreaterOrEqual(t, bits, uint8(24))
			require.True(t, gone != key(orphan).Key || bits&1 > 0)
		}
	})
}

// JOBS.md J5: a content goes only when no object names it, and a day after it was stored.
func TestContents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		named := map[string]bool{}
		var stored []retention.StoredContent
		for i := range rapid.IntRange(0, 8).Draw(t, "contents") {
			c := retention.StoredContent{Digest: fmt.Sprintf("sha256:%d", i), Stored: now.Add(-time.Duration(rapid.IntRange(0, 48).Draw(t, "hours")) * time.Hour)}
			stored = append(stored, c)
			named[c.Digest] = rapid.Bool().Draw(t, "named")
		}
		gone := retention.Contents(stored, named, now)
		for _, c := range stored {
			want := !named[c.Digest] && now.Sub(c.Stored) >= 24*time.Hour
			assert.Equal(t, want, slices.Contains(gone, c.Digest), "%v", c)
		}
	})
}
