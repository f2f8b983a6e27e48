package bundle_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Pods are replaced when what they read of the bundle changes, and for nothing else.
func TestChecksummed(t *testing.T) {
	const reads = `{containers: [{name: a, envFrom: [{configMapRef: {name: c}}]}], volumes: [{name: v, secret: {secretName: s, optional: true}}]}`
	holding := func(name, value string) bundle.Object {
		return object(name, map[string]any{"data": map[string]any{"k": value}})
	}
	of := func(objects ...bundle.Object) string {
		all := bundle.Checksummed(objects, "shop")
		require.Len(t, all, len(objects))
		return all[0].Text("spec", "template", "metadata", "annotations", bundle.ChecksumKey)
	}
	web := pods(t, reads)
	first := of(web, holding("ConfigMap c", "1"), holding("Secret s", "1"))
	assert.Regexp(t, `^[0-9a-f]{64}$`, first)
	assert.Empty(t, web.At("spec", "template", "metadata"), "the argument is as it was")
	tests := map[string]struct {
		why     string
		objects []bundle.Object
		same    bool
	}{
		"Order":     {why: "the same objects", objects: []bundle.Object{holding("Secret s", "1"), holding("ConfigMap c", "1")}, same: true},
		"Foreign":   {why: "it reads neither", objects: []bundle.Object{holding("ConfigMap c", "1"), holding("Secret s", "1"), holding("ConfigMap d", "1")}, same: true},
		"ConfigMap": {why: "another value", objects: []bundle.Object{holding("ConfigMap c", "2"), holding("Secret s", "1")}},
		"Secret":    {why: "optional, and there", objects: []bundle.Object{holding("ConfigMap c", "1"), holding("Secret s", "2")}},
		"Gone":      {why: "it is the cluster's now", objects: []bundle.Object{holding("ConfigMap c", "1")}},
		"Swapped":   {why: "another object has the value", objects: []bundle.Object{holding("ConfigMap s", "1"), holding("Secret c", "1")}},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			got := of(append([]bundle.Object{web}, tc.objects...)...)
			assert.Equal(t, tc.same, got == first, tc.why)
		})
	}
	assert.Empty(t, of(web), "nothing of the bundle is read")
	run := job("init", "true")
	assert.Equal(t, []bundle.Object{run}, bundle.Checksummed([]bundle.Object{run}, "shop"), "a Job would run again")
}

// What annotations a template has stay.
func TestChecksummedKeepsAnnotations(t *testing.T) {
	web := pods(t, `{volumes: [{name: v, configMap: {name: c}}]}`)
	template, ok := web.At("spec", "template").(map[string]any)
	require.True(t, ok)
	template["metadata"] = map[string]any{"annotations": map[string]any{"a": "b"}}
	all := bundle.Checksummed([]bundle.Object{web, object("ConfigMap c")}, "shop")
	assert.Equal(t, "b", all[0].Text("spec", "template", "metadata", "annotations", "a"))
	assert.NotEmpty(t, all[0].Text("spec", "template", "metadata", "annotations", bundle.ChecksumKey))
}
