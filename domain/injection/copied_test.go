package injection_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/jsonpatch"
)

// A copy of an injected pod, as kubectl debug --copy-to makes it, has the agent and neither labels nor annotations:
// its gate opens by itself, and nothing else of it changes (TRUST.md A8).
func TestCopiedPod(t *testing.T) {
	pod := shape(t, `{metadata: {name: debug}, spec: {containers: [{name: app}],
  initContainers: [{name: istio-proxy}, {name: relation-agent, env: [{name: ORCON_CONSUMES, value: db}]}, {name: relation-canary}]}}`)
	d := injection.For(plain(), "shop", pod)
	require.NotNil(t, d.Injection)
	assert.Equal(t, []jsonpatch.Operation{{Op: "add", Path: "/spec/initContainers/1/env/-", Value: []byte(`{"name":"ORCON_GATE","value":"none"}`)}},
		injection.Operations("", pod, d.Injection))
	require.Len(t, d.Told, 1)
	assert.True(t, d.Told[0].Warning)
}

// The gate of a copy opens by itself also where that of the original waits for Orcon to be away: the controller answers the
// copy, and has no data for it (TRUST.md A1, A8).
func TestCopyOfAPodThatStartsStale(t *testing.T) {
	copied := toJSON(t, `{metadata: {name: debug}, spec: {containers: [{name: app}],
  initContainers: [{name: relation-agent, env: [{name: ORCON_CONSUMES, value: db}, {name: ORCON_GATE, value: stale}]}]}}`)
	pod := shape(t, string(copied))
	d := injection.For(plain(), "shop", pod)
	require.NotNil(t, d.Injection, "skipped: %v", d.Skip)
	after := shape(t, string(applied(t, copied, injection.Operations("", pod, d.Injection))))
	assert.Equal(t, []injection.EnvVar{{Name: "ORCON_CONSUMES", Value: "db"}, {Name: "ORCON_GATE", Value: "none"}}, after.Spec.InitContainers[0].Env)
	assert.Equal(t, injection.AlreadyInjected, injection.For(plain(), "shop", after).Skip.Reason, "INJECTION.md I6: twice is once")
}
