package policy_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/policy"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/health"
)

func TestHealth(t *testing.T) {
	h, err := policy.CompileHealth([]bundle.Probe{
		{Group: "race.example.org", Kind: "Engine", Ready: `object.status.phase == "Running"`, Failed: `object.status.phase == "Broken"`},
		{Group: "race.example.org", Kind: "Wheel", Failed: "object.status.flat"},
	})
	require.NoError(t, err)
	with := func(kind string, status map[string]any) bundle.Object {
		o := bundle.Object{"apiVersion": "race.example.org/v1", "kind": kind, "metadata": map[string]any{"name": "v8"}}
		if status != nil {
			o["status"] = status
		}
		return o
	}
	tests := map[string]struct {
		why    string
		object bundle.Object
		want   health.State
		says   string
		known  bool
	}{
		"Ready":      {"it says so", with("Engine", map[string]any{"phase": "Running"}), health.Ready, "", true},
		"Starting":   {"not yet", with("Engine", map[string]any{"phase": "Warm"}), health.InProgress, `its health check waits for object.status.phase == "Running"`, true},
		"New":        {"nobody has written its status", with("Engine", nil), health.InProgress, "no such key: status", true},
		"Failed":     {"it says so", with("Engine", map[string]any{"phase": "Broken"}), health.Failing, `has failed: object.status.phase == "Broken"`, true},
		"OnlyFailed": {"what has not failed is ready", with("Wheel", nil), health.Ready, "", true},
		"Flat":       {"it has failed", with("Wheel", map[string]any{"flat": true}), health.Failing, "object.status.flat", true},
		"NoAnswer":   {"a text is no answer", with("Wheel", map[string]any{"flat": "yes"}), health.Ready, "", true},
		"Other":      {"of another kind nothing is known", with("Car", nil), "", "", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			opinion, known := h.Probe(tc.object)
			assert.Equal(t, tc.known, known, tc.why)
			assert.Equal(t, tc.want, opinion.State, tc.why)
			assert.Contains(t, opinion.Says, tc.says, tc.why)
			assert.Equal(t, tc.want == health.Failing, opinion.Terminal, tc.why)
		})
	}
	_, err = policy.CompileHealth([]bundle.Probe{{Kind: "Engine", Ready: "object.", Failed: "1"}})
	require.ErrorContains(t, err, "cannot use health check of Engine, ready: line 1")
	assert.ErrorContains(t, err, "cannot use health check of Engine, failed: it returns int")
}
