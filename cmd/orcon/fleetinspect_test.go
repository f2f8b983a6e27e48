package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// flawed is the template of a chart that quotes nothing.
const flawed = `{{- range .Values.integrations }}{{ $one := . }}
{{- range .shard_specs }}
---
apiVersion: apps/v1
kind: {{ if $one.cache }}StatefulSet{{ else }}Deployment{{ end }}
metadata: {name: {{ $one.name }}{{ .shard_name_suffix }}}
spec:
  selector: {matchLabels: {app: {{ $one.name }}}}
  {{- if $one.cache }}
  volumeClaimTemplates: [{metadata: {name: cache}, spec: {resources: {requests: {storage: {{ $one.storage }}}}}}]
  {{- end }}
  template: {spec: {containers: [{name: int, image: "{{ $one.imageRef }}", env: [{name: SECS, value: {{ $one.sleepDurationSecs }}}]}]}}
{{- end }}
{{- end }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: x}
`

// flawedFleet writes the chart and data with one spec, and returns their folders.
func flawedFleet(t *testing.T, spec string) (chart, data string) {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"chart/Chart.yaml":       "apiVersion: v2\nname: c\nversion: 1.0.0\n",
		"chart/templates/a.yaml": flawed,
		"data/ns.yml":            "$schema: /openshift/lean-namespace-1.yml\nname: tools\ncluster: {name: one}\nenvironment: {name: stage}\n",
		"data/x.yml":             "$schema: /app-sre/integration-1.yml\nname: x\nmanaged:\n- namespace: {$ref: /ns.yml}\n  spec: {resources: {}, " + spec + "}\n",
	} {
		at := filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o750))
		require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
	}
	return filepath.Join(folder, "chart"), filepath.Join(folder, "data")
}

// Rendered objects have findings, and changes have effects, in a preview (FLEET.md C3). A plan has those that are new.
func TestFleetFindings(t *testing.T) {
	const (
		number = `note: /x.yml:4: Deployment x: variable "SECS" of container "int" has the number 300 and needs a text: quote the value in the template`
		image  = `/x.yml:4: Deployment x: image "" of container "int" has no name`
		shared = `note: /x.yml:4: Deployment tools/x-0: its selector (app=x) is also that of x-1: in a new installation`
	)
	chart, plain := flawedFleet(t, `imageRef: busybox, sleepDurationSecs: soon`)
	_, faulty := flawedFleet(t, `sleepDurationSecs: 300`)
	code, _, errs := call("", "fleet", "render", chart, "--data", faulty)
	assert.Equal(t, 0, code)
	assert.Contains(t, errs, number)
	assert.Contains(t, errs, "note: "+image)

	code, _, errs = call("", "fleet", "plan", chart, "--data", faulty, "--base", plain)
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, errs, number)
	_, _, errs = call("", "fleet", "plan", chart, "--data", plain, "--base", faulty)
	assert.NotContains(t, errs, number, "it goes")
	_, other := flawedFleet(t, `sleepDurationSecs: 300, extraArgs: "--more"`)
	_, _, errs = call("", "fleet", "plan", chart, "--data", other, "--base", faulty)
	assert.NotContains(t, errs, "note", "it was there before")
	_, out, errs := call("", "fleet", "plan", chart, "--data", faulty, "--base", plain, "-o", "markdown")
	assert.Contains(t, out, "### Notes\n\n- /x.yml:4: Deployment x: variable")
	assert.NotContains(t, errs, "note", "a pull request shows standard output")

	_, sharded := flawedFleet(t, `imageRef: busybox, sleepDurationSecs: soon, shards: 2`)
	_, _, errs = call("", "fleet", "plan", chart, "--data", sharded, "--base", plain)
	assert.Contains(t, errs, shared)
	_, _, errs = call("", "fleet", "render", chart, "--data", sharded)
	assert.Contains(t, errs, shared)

	_, small := flawedFleet(t, `imageRef: busybox, sleepDurationSecs: soon, cache: true, storage: 1Gi`)
	_, large := flawedFleet(t, `imageRef: busybox, sleepDurationSecs: soon, cache: true, storage: 2Gi`)
	_, out, _ = call("", "fleet", "plan", chart, "--data", large, "--base", small)
	assert.Contains(t, out, "StatefulSet x was changed: recreate, claim unchanged\n")
	_, out, _ = call("", "fleet", "plan", chart, "--data", small, "--base", plain, "-o", "json")
	assert.Contains(t, out, `"effect": "takes the place of Deployment x, which is deleted first"`)
}

// A chart's schema adds fields, and what it refuses is an error with file and line (FLEET.md D2).
func TestFleetSchema(t *testing.T) {
	const schema = `{"properties": {"integrations": {"items": {"properties": {"colour": {"enum": ["red", "blue"]}}}}, "size": {"maximum": 5}}}`
	const plain = `imageRef: busybox, sleepDurationSecs: soon`
	chart, red := flawedFleet(t, plain+", colour: red")
	_, green := flawedFleet(t, plain+", colour: green")
	code, _, errs := call("", "fleet", "render", chart, "--data", red)
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, `/x.yml:5: unknown field "colour"`, "the chart has no schema")

	require.NoError(t, os.WriteFile(filepath.Join(chart, "values.schema.json"), []byte(schema), 0o600))
	code, out, errs := call("", "fleet", "render", chart, "--data", red)
	assert.Equal(t, 0, code, errs)
	assert.Contains(t, out, "kind: Deployment")
	const refused = `/x.yml:5: field "colour" does not fit the chart's values.schema.json: value must be one of 'red', 'blue'`
	code, out, errs = call("", "fleet", "render", chart, "--data", green)
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, refused)
	assert.NotContains(t, out, "kind: Deployment")
	code, out, errs = call("", "fleet", "plan", chart, "--data", green, "--base", red)
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, refused)
	assert.Empty(t, out, "what has an error goes on, and is not removed")
	code, out, errs = call("", "fleet", "plan", chart, "--data", red, "--base", green)
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, out, "Deployment x is new")
	assert.Contains(t, errs, "note: /x.yml:4: the data before the change have an error here: all of it is shown as new")

	_, _, errs = call("", "fleet", "render", chart, "--data", red, "--set", "size=7")
	assert.Contains(t, errs, "size: maximum: want 5", "what all members share is checked at rendering")
}

// One member that cannot be rendered harms no other.
func TestFleetMemberThatCannotBeRendered(t *testing.T) {
	chart, plain := flawedFleet(t, `imageRef: busybox, sleepDurationSecs: soon`)
	_, broken := flawedFleet(t, `imageRef: '"', sleepDurationSecs: soon`)
	code, out, errs := call("", "fleet", "render", chart, "--data", broken)
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, out, "kind: ConfigMap", "what the namespace shares")
	assert.Contains(t, errs, "cannot render x in namespace tools, environment stage (/x.yml:4)")
	code, _, errs = call("", "fleet", "plan", chart, "--data", broken, "--base", plain)
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, "cannot render x in namespace tools")
	code, _, errs = call("", "fleet", "plan", chart, "--data", plain, "--base", broken)
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, "before the change: cannot render x in namespace tools")
}
