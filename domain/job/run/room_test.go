package run_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// Runs that are admitted one after the other never exceed a limit, and 0 is none.
func TestRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := run.Most{Installation: rapid.IntRange(0, 4).Draw(t, "installation"), Namespace: rapid.IntRange(0, 3).Draw(t, "namespace")}
		counts, all := map[string]int{}, 0
		for range rapid.IntRange(0, 12).Draw(t, "runs") {
			in := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "in")
			err := m.Room(all, counts[in])
			full := m.Installation > 0 && all >= m.Installation || m.Namespace > 0 && counts[in] >= m.Namespace
			assert.Equal(t, full, err != nil)
			if err == nil {
				all++
				counts[in]++
			}
		}
	})
	assert.ErrorContains(t, run.Most{Installation: 2}.Room(2, 0), "2 runs are under way, as many as -maxRuns")
	assert.ErrorContains(t, run.Most{Installation: 9, Namespace: 1}.Room(3, 1), "1 run of the namespace is under way, as many as -maxRunsPerNamespace")
}
