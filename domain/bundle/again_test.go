package bundle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

func TestAgain(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	since := func(waited ...time.Duration) bundle.Next {
		var n bundle.Next
		for _, w := range waited {
			n.Waits = append(n.Waits, bundle.Wait{Since: now.Add(-w)})
		}
		return n
	}
	tests := map[string]struct {
		why  string
		next bundle.Next
		want time.Duration
	}{
		"Fresh":    {"most rollouts take seconds", since(2 * time.Second), time.Second},
		"Slow":     {"a slow one is noticed within a tenth of its time", since(time.Minute), 6 * time.Second},
		"Long":     {"hundreds that wait leave the API server to others", since(5 * time.Minute), 10 * time.Second},
		"Newest":   {"what changed last changes next", since(5*time.Minute, 30*time.Second), 3 * time.Second},
		"Deadline": {"a deadline is met", since(10*time.Minute - 4*time.Second), 4 * time.Second},
		"Late":     {"what is late fails with the next look", since(11*time.Minute, 15*time.Second), 1500 * time.Millisecond},
		"Unknown":  {"what has no time has no deadline", bundle.Next{Waits: []bundle.Wait{{For: "x"}}}, 10 * time.Second},
		"Nothing":  {"nor has nothing", bundle.Next{}, 10 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, test.next.Again(bundle.Pace{Now: now}, time.Second), test.why)
		})
	}
}

// A deadline passes no more than the least pause before the look that notices it.
func TestAgainMeetsDeadlines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(1_000_000, 0)
		deadline := time.Duration(rapid.IntRange(1, 3600).Draw(t, "deadline")) * time.Second
		var n bundle.Next
		for range rapid.IntRange(1, 4).Draw(t, "waits") {
			n.Waits = append(n.Waits, bundle.Wait{Since: now.Add(-time.Duration(rapid.IntRange(0, 3600).Draw(t, "waited")) * time.Second)})
		}
		again := n.Again(bundle.Pace{Now: now, Deadline: deadline}, time.Second)
		assert.GreaterOrEqual(t, again, time.Second)
		for _, w := range n.Waits {
			if end := w.Since.Add(deadline); end.After(now) {
				assert.False(t, now.Add(again).After(end.Add(time.Second)), "waited since %s", w.Since)
			}
		}
	})
}
