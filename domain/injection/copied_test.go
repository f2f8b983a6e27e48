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
