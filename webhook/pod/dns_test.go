package pod_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/webhook/pod"
)

// The handler's own reader sees which DNS a pod asks, since its agent's address depends on that (INJECTION.md I1).
func TestReadShapeReadsTheDNSPolicy(t *testing.T) {
	const text = `{"metadata":{"name":"p"},"spec":{"dnsPolicy":"None","hostNetwork":true}}`
	var want injection.Shape
	require.NoError(t, json.Unmarshal([]byte(text), &want))
	got := pod.ReadShape(t, text)
	assert.Equal(t, want, got)
	assert.Equal(t, "None", got.Spec.DNSPolicy)
}
