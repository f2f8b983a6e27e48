package policy_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/policy"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// TRUST.md R5: what a health check cannot evaluate quotes no value of the object, which may be a Secret's.
func TestHealthQuotesNothing(t *testing.T) {
	object := map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": map[string]any{"password": "hunter2"},
	}
	for expression, says := range map[string]string{
		"int(object.data.password) > 0":                            "type conversion error",
		"timestamp(object.data.password) > timestamp(0)":           "the error may quote a value",
		"duration(object.data.password) > duration('1s')":          "type conversion error",
		"{'a': true}[object.data.password]":                        "the error may quote a value",
		"'a'.matches(object.data.password + '(')":                  "the error may quote a value",
		"object.data.password":                                     "",
		"object.status.phase == 'Running'":                         "no such key: status",
		"object.data[object.data.password] == 'x'":                 "the error may quote a value",
		"[1][int(object.data.size)] == 1 || object.data.size == 1": "no such key: size",
	} {
		h, err := policy.CompileHealth([]bundle.Probe{{Kind: "ConfigMap", Ready: expression}})
		require.NoError(t, err, expression)
		opinion, known := h.Probe(object)
		require.True(t, known)
		assert.NotContains(t, opinion.Says, "hunter2", expression)
		assert.Contains(t, opinion.Says, says, expression)
	}
}
