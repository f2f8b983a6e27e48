package injection_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// What the webhook refuses of a workload is refused offline, wherever it stands, and whether its pods get something or not
// (INJECTION.md I15, SAFETY.md I27).
func TestInjectRefusesWhatTheWebhookRefuses(t *testing.T) {
	tests := map[string]struct{ why, labels, own, template, refused string }{
		"Retain":     {"it stands on the workload alone", "", "tengu.io/consumes: db, tengu.io/relations: x, tengu.io/retain: soon", "", `tengu.io/retain: "soon": it is not a duration`},
		"Data":       {"its pods get nothing", "", "tengu.io/provides: main, data.tengu.io/main: '['", "", "data.tengu.io/main: it is not YAML"},
		"NoTemplate": {"the same", "", "", "tengu.io/provides: A", `tengu.io/provides: "A"`},
		"OptedOut":   {"the webhook does not see it", "injector.tengu.io/inject: 'false'", "tengu.io/retain: soon", "", ""},
		"Right":      {"nothing is wrong", "", "tengu.io/consumes: db, tengu.io/relations: x, tengu.io/on-change: restart", "", ""},
		"OfPods":     {"it has no effect on the workload", "", "tengu.io/consumes: db, tengu.io/relations: x, tengu.io/handlers: /h", "", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, d, err := injection.Inject(plain(), toJSON(t, `{kind: Deployment, metadata: {name: web, labels: {`+tc.labels+`}, annotations: {`+tc.own+`}},
				spec: {template: {metadata: {annotations: {`+tc.template+`}}, spec: {containers: [{name: a}]}}}}`), nil)
			require.NoError(t, err)
			if tc.refused == "" {
				require.NoError(t, d.Refused, tc.why)
				return
			}
			require.ErrorContains(t, d.Refused, tc.refused, tc.why)
			assert.Nil(t, d.Injection)
			assert.Empty(t, d.Skip)
		})
	}
}
