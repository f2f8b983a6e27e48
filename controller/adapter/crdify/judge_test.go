package crdify_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/crdify"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// widgets is what all cases change.
const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.org}
spec:
  group: example.org
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, maximum: 10}
              colour: {type: string, enum: [blue, green]}
              options: {type: object, x-kubernetes-preserve-unknown-fields: true}
status: {storedVersions: [v1]}
`

// second is a version that is served too.
const second = `
  - name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer, maximum: 5}}}}}}
`

func definition(t *testing.T, text string) bundle.Object {
	t.Helper()
	var o bundle.Object
	require.NoError(t, yaml.Unmarshal([]byte(text), &o))
	return o
}

// BUNDLES.md 11: what loses data or breaks stored objects is found, with path, reason and cure.
func TestFindings(t *testing.T) {
	tests := map[string]struct {
		why      string
		from, to string
		want     []string
	}{
		"Same":      {why: "nothing changes", from: "group", to: "group"},
		"Added":     {why: "more than before is no loss", from: "size: {", to: "weight: {type: integer}\n              size: {"},
		"MoreEnum":  {why: "what was allowed still is", from: "[blue, green]", to: "[blue, green, red]"},
		"Wider":     {why: "a limit that was lifted", from: ", maximum: 10", to: ""},
		"Described": {why: "words change no object", from: "size: {type: integer", to: "size: {description: how large, type: integer"},
		"Field": {why: "a field is gone", from: "              size: {type: integer, maximum: 10}\n", to: "",
			want: []string{"v1.spec.size: the field is removed, and what objects hold there is lost: keep the field"}},
		"Enum":     {why: "a value is allowed no more", from: "[blue, green]", to: "[blue]", want: []string{`v1.spec.colour: allowed enum values removed: ["green"]: allow what was allowed`}},
		"Required": {why: "objects may lack it", from: "properties:\n              size", to: "required: [size]\n            properties:\n              size", want: []string{"v1.spec: new required fields: [size]: allow what was allowed"}},
		"Maximum":  {why: "objects exceed it", from: "maximum: 10", to: "maximum: 5", want: []string{"v1.spec.size: maximum decreased: 10 -> 5: allow what was allowed"}},
		"Type":     {why: "objects hold numbers", from: "size: {type: integer, maximum: 10}", to: "size: {type: string}", want: []string{`v1.spec.size: type changed: "integer" -> "string": allow`}},
		"Scope":    {why: "objects are in namespaces", from: "Namespaced", to: "Cluster", want: []string{`scope changed: "Namespaced" -> "Cluster": keep the scope`}},
		"Stored":   {why: "objects are stored in it", from: "name: v1", to: "name: v3", want: []string{"stored versions removed: [v1]: keep the version, write each object anew"}},
		"Unknown":  {why: "fields of any name are dropped", from: ", x-kubernetes-preserve-unknown-fields: true", to: "", want: []string{"v1.spec.options: fields that it does not name are kept no more: keep x-kubernetes"}},
		"Versions": {why: "two versions that are served disagree", from: "\nstatus", to: second + "status", want: []string{
			"v1 -> v2.spec.colour: the field is not in v2, and what objects hold there is lost: keep the field", "v1 -> v2.spec.options: the field is not in v2",
			"v1 -> v2.spec.size: maximum decreased: 10 -> 5: allow what was allowed",
		}},
		"Webhook":  {why: "a webhook converts", from: "\nstatus", to: second + "  conversion: {strategy: Webhook}\nstatus"},
		"NoSchema": {why: "only the API server may refuse it", from: "    schema:\n      openAPIV3Schema:", to: "    nothing:\n      at all:", want: []string{"v1: ", "v1.spec: ", "v1.spec.colour: ", "v1.spec.options: ", "v1.spec.size: "}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			to := strings.Replace(widgets, tc.from, tc.to, 1)
			findings, err := crdify.Judge{}.Findings(definition(t, widgets), definition(t, to))
			require.NoError(t, err)
			require.Len(t, findings, len(tc.want), "%s: %v", tc.why, findings)
			for i, want := range tc.want {
				assert.Contains(t, findings[i].String(), want, tc.why)
			}
		})
	}
	own := strings.Replace(widgets, "group: example.org", "group: orcon.tengu.io", 1)
	findings, err := crdify.Judge{}.Findings(definition(t, own), definition(t, strings.Replace(own, "              size: {type: integer, maximum: 10}\n              colour", "              shade", 1)))
	require.NoError(t, err)
	require.Len(t, findings, 1, "a user cannot keep the fields: one finding has the way out")
	assert.Contains(t, findings[0].String(), "v1.spec.colour: the field is removed, and what objects hold there is lost: objects of Orcon are not migrated")
	_, err = crdify.Judge{}.Findings(definition(t, widgets), bundle.Object{"spec": "none"})
	assert.ErrorContains(t, err, "cannot read")
}
