package retention_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

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
	}
	known := workspace.Extent{Fence: 9, Generation: 3}
	assert.Equal(t, []int64{1, 4, 7}, retention.Sweep(w, known, old(9, 8, 7, 6, 5, 4, 3, 2, 1), now))
	assert.Equal(t, []int64{2, 3, 5, 6}, retention.Named(w))
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
	assert.Equal(t, []string{"a", "d", "e"}, retention.Logs(ended, 0, 9*time.Hour-time.Minute, now.Add(13*time.Hour)))
	assert.Equal(t, []string{"a", "d"}, retention.Logs(ended, 10, 0, now))
	assert.Empty(t, retention.Logs(ended, 0, 0, now))
}
