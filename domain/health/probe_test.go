package health_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/health"
)

// A user's probe comes first, then Orcon's, which a reported failure overrules; and none of them calls an
// object ready that is deleted or whose status is old (CONTENT.md H1 and H3).
func TestPrecedence(t *testing.T) {
	probe := func(state health.State, ignores ...string) health.Finder {
		return func(map[string]any) (health.Opinion, bool) {
			return health.Opinion{State: state, Says: "the probe's words", Rule: "a probe", Ignores: ignores}, true
		}
	}
	silent := func(map[string]any) (health.Opinion, bool) {
		return health.Opinion{State: health.Ready, Rule: "a probe", Statusless: true}, true
	}
	status := func(fields map[string]any) map[string]any {
		return map[string]any{"apiVersion": "example.org/v1", "kind": "Engine", "metadata": map[string]any{"generation": int64(2)}, "status": fields}
	}
	condition := func(kind, is string) map[string]any {
		return map[string]any{"conditions": []any{map[string]any{"type": kind, "status": is}}}
	}
	broken := status(condition("Failed", "True"))
	tests := map[string]struct {
		why    string
		object map[string]any
		know   health.Knowledge
		want   health.State
	}{
		"User":      {"a user knows better", broken, health.Knowledge{User: probe(health.Ready)}, health.Ready},
		"UserFirst": {"than Orcon too", broken, health.Knowledge{User: probe(health.Ready), Library: probe(health.Failing)}, health.Ready},
		"UserOdd":   {"also of an odd status", status(map[string]any{"observedGeneration": "soon"}), health.Knowledge{User: probe(health.Ready)}, health.Ready},
		"Odd":       {"which is in progress otherwise", status(map[string]any{"observedGeneration": "soon"}), health.Knowledge{Library: probe(health.Ready)}, health.InProgress},
		"Behind":    {"an old status is about another spec", status(map[string]any{"observedGeneration": int64(1)}), health.Knowledge{User: probe(health.Ready)}, health.InProgress},
		"Veto":      {"a failure overrules", broken, health.Knowledge{Library: probe(health.Ready)}, health.Failing},
		"Summary":   {"as does a summary", status(condition("Ready", "False")), health.Knowledge{Library: probe(health.Ready)}, health.InProgress},
		"Ignored":   {"unless the probe knows it", broken, health.Knowledge{Library: probe(health.Ready, "Failed")}, health.Ready},
		"Word":      {"a word is no condition", status(map[string]any{"phase": "Pending"}), health.Knowledge{Library: probe(health.Ready)}, health.Ready},
		"Library":   {"a probe's own words count", status(condition("Ready", "True")), health.Knowledge{Library: probe(health.InProgress)}, health.InProgress},
		"Missing":   {"no status yet", status(nil), health.Knowledge{Library: probe(health.Ready)}, health.InProgress},
		"Ignoring":  {"a probe ignores evidence only", status(nil), health.Knowledge{Library: probe(health.Ready, "status")}, health.InProgress},
		"Silent":    {"a kind that never has one", status(nil), health.Knowledge{Library: silent}, health.Ready},
		"Users":     {"which a user's probe does not say", status(nil), health.Knowledge{User: silent}, health.InProgress},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			v := health.Judge(tc.object, tc.know, now)
			assert.Equal(t, tc.want, v.State, "%s: %s", tc.why, v.Says)
		})
	}
}

// An address that the cluster does not give is not waited for where an annotation says so (CONTENT.md H2).
func TestAddressIsOptional(t *testing.T) {
	for _, kind := range []string{"Service", "Ingress"} {
		api := map[string]string{"Service": "v1", "Ingress": "networking.k8s.io/v1"}[kind]
		o := map[string]any{"apiVersion": api, "kind": kind, "metadata": map[string]any{}, "spec": map[string]any{"type": "LoadBalancer"}}
		v := health.Judge(o, health.Knowledge{}, now)
		assert.Equal(t, health.InProgress, v.State)
		assert.Contains(t, v.Says, "annotate it with orcon.tengu.io/address: Ignore")
		o = with(o, "Ignore", "metadata", "annotations", health.AddressKey)
		assert.Equal(t, health.Ready, health.Judge(o, health.Knowledge{}, now).State, kind)
	}
}

// A probe without words leaves it to the evidence to explain its verdict, and has words of last resort (CONTENT.md H4).
func TestEvidenceExplainsAProbe(t *testing.T) {
	engine := func(status map[string]any) map[string]any {
		return map[string]any{"apiVersion": "example.org/v1", "kind": "Engine", "status": status}
	}
	tests := map[string]struct {
		why    string
		state  health.State
		says   string
		status map[string]any
		want   string
	}{
		"Evidence":  {"a count says what is missing", health.InProgress, "", map[string]any{"replicas": int64(2), "readyReplicas": int64(1)}, "readyReplicas is 1 of 2"},
		"Failure":   {"of several, one of the same kind", health.Failing, "", map[string]any{"phase": "Pending", "state": "Broken"}, "state is Broken"},
		"Words":     {"a probe knows better", health.InProgress, "warms up", map[string]any{"phase": "Pending"}, "warms up"},
		"Otherwise": {"nothing else is known", health.InProgress, "", map[string]any{"oil": "cold"}, "waits for oil"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			probe := func(map[string]any) (health.Opinion, bool) {
				return health.Opinion{State: tc.state, Says: tc.says, Otherwise: "waits for oil"}, true
			}
			assert.Equal(t, tc.want, health.Judge(engine(tc.status), health.Knowledge{Library: probe}, now).Says, tc.why)
		})
	}
}
