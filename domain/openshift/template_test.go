package openshift_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/openshift"
)

// fieldsOf returns the fields of a manifest.
func fieldsOf(t *testing.T, text string) map[string]any {
	t.Helper()
	var fields map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(text), &fields))
	return fields
}

func TestIs(t *testing.T) {
	tests := map[string]struct {
		why, text string
		want      bool
	}{
		"Group":     {why: "the API group of today", text: "{apiVersion: template.openshift.io/v1, kind: Template}", want: true},
		"Older":     {why: "charts of before 2017 write it", text: "{apiVersion: v1, kind: Template}", want: true},
		"Other":     {why: "another group may have a kind of this name", text: "{apiVersion: example.org/v1, kind: Template}"},
		"PodOnly":   {why: "another kind", text: "{apiVersion: v1, kind: PodTemplate}"},
		"Nothing":   {why: "no manifest", text: "{}"},
		"NotAText":  {why: "fields of another type", text: "{apiVersion: 1, kind: [Template]}"},
		"Versioned": {why: "a version that these rules are not of", text: "{apiVersion: template.openshift.io/v2, kind: Template}"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			assert.Equal(t, tc.want, openshift.Is(fieldsOf(t, tc.text)), tc.why)
		})
	}
}

func TestParse(t *testing.T) {
	template, err := openshift.Parse(fieldsOf(t, `
apiVersion: template.openshift.io/v1
kind: Template
metadata: {name: shop, annotations: {description: sells}}
message: installed
labels: {team: shop, empty: }
objects: [{kind: Service}]
parameters:
- {name: IMAGE, displayName: Image, description: of the pod, value: "web:1", required: true}
- {name: PASSWORD, generate: expression, from: "[a-z]{8}"}
- {name: NONE, value: }
`))
	require.NoError(t, err, "all fields of a Template are known")
	assert.Equal(t, []openshift.Parameter{
		{Name: "IMAGE", Value: "web:1", Required: true}, {Name: "PASSWORD", Generate: "expression"}, {Name: "NONE"},
	}, template.Parameters)
}

func TestParseErrors(t *testing.T) {
	tests := map[string]struct {
		why, text string
		want      []string
	}{
		"Number": {
			why:  "YAML makes a number of what is meant as text",
			text: "parameters: [{name: A, value: 1}]", want: []string{"parameters[0].value is a number: write a string, in quotes"},
		},
		"Boolean": {
			why:  "YAML makes a boolean of what is meant as text",
			text: "parameters: [{name: A}, {name: B, value: yes}]", want: []string{"parameters[1].value is a boolean: write a string, in quotes"},
		},
		"Required": {
			why:  "a text is never true",
			text: `parameters: [{name: A, required: "true"}]`, want: []string{"parameters[0].required is a string: write true or false"},
		},
		"Generate": {why: "no generator", text: "parameters: [{name: A, generate: {}}]", want: []string{"parameters[0].generate is a map"}},
		"Name":     {why: "nothing could refer to it", text: "parameters: [{name: A-B}]", want: []string{`parameters[0].name is "A-B": use letters`}},
		"NoName":   {why: "nothing could refer to it", text: "parameters: [{value: x}]", want: []string{`parameters[0].name is ""`}},
		"Twice":    {why: "which default counts?", text: "parameters: [{name: A}, {name: A}]", want: []string{"parameters[1].name is A again: keep one"}},
		"Misspelt": {
			why:  "the default would be missing, without a word",
			text: "parameters: [{name: A, valeu: x, requird: true}]",
			want: []string{"parameters[0].valeu is unknown: write value", "parameters[0].requird is unknown: write required"},
		},
		"MisspeltTop": {why: "the parameters would be missing", text: "parameter: []", want: []string{"parameter is unknown: write parameters"}},
		"NoList":      {why: "a map of parameters is another format", text: "parameters: {A: x}", want: []string{"parameters is a map: write a list"}},
		"NoMap":       {why: "a name alone", text: "parameters: [A]", want: []string{"parameters[0] is a string: write a map"}},
		"NoObjects":   {why: "one object", text: "objects: {kind: Service}", want: []string{"objects is a map: write a list"}},
		"NoObject":    {why: "a gap", text: "objects: [null]", want: []string{"objects[0] is null: write a map"}},
		"Labels":      {why: "pairs", text: "labels: [a]", want: []string{"labels is a list: write a map"}},
		"Label":       {why: "labels are text", text: "labels: {version: 2}", want: []string{"labels.version is a number: write a string"}},
		"AllAtOnce": {
			why: "one run shows all", text: "{labels: 1, objects: 2, parameters: [{name: 3}, {name: A, from: x, form: x}]}",
			want: []string{"labels is", "objects is", "parameters[0].name is", "parameters[1].form is unknown: write from"},
		},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			_, err := openshift.Parse(fieldsOf(t, tc.text))
			require.Error(t, err, tc.why)
			for _, want := range tc.want {
				assert.ErrorContains(t, err, want, tc.why)
			}
		})
	}
}

// Fields that OpenShift ignores do not stop a Template that works there.
func TestParseIgnores(t *testing.T) {
	_, err := openshift.Parse(fieldsOf(t, "{status: {}, icon: x, parameters: [{name: A, type: string, hint: x}]}"))
	assert.NoError(t, err)
}
