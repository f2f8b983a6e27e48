package health_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/health"
)

// Pods that have failed stay for days: the newest outcome tells whether the workload still has that trouble.
func TestFateOutweighs(t *testing.T) {
	first, later := now, now.Add(time.Second)
	tests := map[string]struct {
		why        string
		one, other health.Fate
		want       bool
	}{
		"Again":    {"a node has refused the next one too", health.Fate{Created: later, Failed: true}, health.Fate{Created: first, Failed: true}, true},
		"Mended":   {"the next one has begun", health.Fate{Created: later}, health.Fate{Created: first, Failed: true}, true},
		"Past":     {"one has begun since", health.Fate{Created: first, Failed: true}, health.Fate{Created: later}, false},
		"Together": {"of three replicas one is refused", health.Fate{Created: first, Failed: true}, health.Fate{Created: first}, true},
		"Beside":   {"the same, seen in the other order", health.Fate{Created: first}, health.Fate{Created: first, Failed: true}, false},
		"Equal":    {"the first that is seen stays", health.Fate{Created: first, Failed: true}, health.Fate{Created: first, Failed: true}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, tc.one.Outweighs(tc.other), tc.why) })
	}
}
