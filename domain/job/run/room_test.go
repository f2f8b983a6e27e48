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

// A Run goes first only where that keeps none waiting that has waited longer; one that has no room itself keeps none waiting.
func TestTurn(t *testing.T) {
	for label, tc := range map[string]struct {
		why    string
		most   run.Most
		longer []string
		all    int
		by     map[string]int
		waits  bool
	}{
		"First":     {why: "none waits", most: run.Most{Installation: 1}},
		"Second":    {why: "the place is another's", most: run.Most{Installation: 1}, longer: []string{"b"}, waits: true},
		"Both":      {why: "there is room for two", most: run.Most{Installation: 3}, longer: []string{"b"}, all: 1},
		"Full":      {why: "the other one's namespace has no room", most: run.Most{Installation: 2, Namespace: 1}, longer: []string{"b", "b"}, all: 1, by: map[string]int{"b": 1}},
		"Namespace": {why: "of the same namespace", most: run.Most{Namespace: 2}, longer: []string{"a"}, all: 1, by: map[string]int{"a": 1}, waits: true},
		"Other":     {why: "of another one", most: run.Most{Namespace: 1}, longer: []string{"b"}},
	} {
		t.Run(label, func(t *testing.T) {
			err := tc.most.Turn("a", tc.longer, tc.all, tc.by)
			assert.Equal(t, tc.waits, err != nil, tc.why)
		})
	}
	assert.ErrorContains(t, run.Most{Installation: 1}.Turn("a", []string{"b"}, 0, nil), "it waits for its turn")
}
