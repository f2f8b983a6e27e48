package render_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content/render"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/openshift"
)

const (
	aTemplate = `apiVersion: template.openshift.io/v1
kind: Template
metadata: {name: shop}
objects:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: "${NAME}"}, data: {colour: "${COLOUR}"}}
parameters:
- {name: NAME, value: page}
- {name: COLOUR, required: true}
`
	aService = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n"
	aChart   = "apiVersion: v2\nname: shop\nversion: 1.0.0\n"
)

// treeOf returns a tree of files.
func treeOf(t *testing.T, files map[string]string) bundle.Tree {
	t.Helper()
	var tree bundle.Tree
	for name, text := range files {
		require.NoError(t, tree.Add(name, bundle.File{Content: []byte(text)}))
	}
	return tree
}

// idsOf returns the names of objects.
func idsOf(objects []bundle.Object) []string {
	var all []string
	for _, o := range objects {
		all = append(all, o.ID().String())
	}
	return all
}

// A Template alone is processed, wherever it stands; with a format that leaves it, or beside others, it is an object.
func TestTemplateIsDetected(t *testing.T) {
	red := map[string]string{"COLOUR": "red"}
	tests := map[string]struct {
		why     string
		files   map[string]string
		options content.Options
		want    bundle.Format
		ids     string
	}{
		"Alone":     {"the one manifest of a folder", map[string]string{"t.yaml": aTemplate, "README.md": "x"}, content.Options{Parameters: red}, bundle.OpenShiftTemplate, "ConfigMap page"},
		"JSON":      {"either form", map[string]string{"t.json": `{"apiVersion":"v1","kind":"Template","objects":[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}}]}`}, content.Options{}, bundle.OpenShiftTemplate, "Secret s"},
		"Chart":     {"the output of a chart", map[string]string{"Chart.yaml": aChart, "templates/t.yaml": aTemplate}, content.Options{Parameters: red}, bundle.OpenShiftTemplate, "ConfigMap page"},
		"Chosen":    {"by name", map[string]string{"t.yaml": aTemplate}, content.Options{Format: "openshift-template", Parameters: red}, bundle.OpenShiftTemplate, "ConfigMap page"},
		"ChosenToo": {"by name, of a chart", map[string]string{"Chart.yaml": aChart, "templates/t.yaml": aTemplate}, content.Options{Format: "openshift-template", Parameters: red}, bundle.OpenShiftTemplate, "ConfigMap page"},
		"Spare":     {"of many members some do not use it", map[string]string{"t.yaml": aTemplate}, content.Options{Tolerated: content.Tolerated{IgnoreUnknown: true}, Parameters: map[string]string{"COLOUR": "red", "SPARE": "x"}}, bundle.OpenShiftTemplate, "ConfigMap page"},
		"SpareToo":  {"in any format", map[string]string{"s.yaml": aService}, content.Options{Tolerated: content.Tolerated{IgnoreUnknown: true}, Parameters: red}, bundle.Plain, "Service web"},
		"File":      {"one of several files", map[string]string{"a/t.yaml": aTemplate, "a/s.yaml": aService}, content.Options{Path: "a/t.yaml", Parameters: red}, bundle.OpenShiftTemplate, "ConfigMap page"},
		"Plain":     {"OpenShift stores Templates too", map[string]string{"t.yaml": aTemplate}, content.Options{Format: "plain"}, bundle.Plain, "Template.template.openshift.io shop"},
		"Helm":      {"OpenShift stores Templates too", map[string]string{"Chart.yaml": aChart, "templates/t.yaml": aTemplate}, content.Options{Format: "helm"}, bundle.Helm, "Template.template.openshift.io shop"},
		"Beside":    {"a catalogue with a Template in it", map[string]string{"t.yaml": aTemplate, "u.yaml": aService}, content.Options{}, bundle.Plain, "Template.template.openshift.io shop"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			rendered, err := render.Render(t.Context(), treeOf(t, tc.files), tc.options)
			require.NoError(t, err, tc.why)
			assert.Equal(t, tc.want, rendered.Format, tc.why)
			assert.Equal(t, tc.ids, idsOf(rendered.Objects)[0], tc.why)
		})
	}
}

// hush is a value of a Secret, which no error may show.
const hush = "hush-hush"

func TestTemplateErrors(t *testing.T) {
	secret := content.ValuesFile{Name: "Secret shop, key values.yaml", Text: []byte("colour: " + hush), Secret: true}
	tests := map[string]struct {
		why     string
		files   map[string]string
		options content.Options
		want    []string
	}{
		"Required": {
			"the location, and how a value is given", map[string]string{"t.yaml": "---\n" + aTemplate}, content.Options{},
			[]string{"cannot render as openshift-template: cannot process the Template of t.yaml, document 1 (line 1): a value is required for parameter COLOUR", "--parameter NAME=VALUE"},
		},
		"Unknown": {
			"the nearest name", map[string]string{"Chart.yaml": aChart, "templates/t.yaml": aTemplate}, content.Options{Parameters: map[string]string{"COLOR": "red", "COLOUR": "red"}},
			[]string{"shop/templates/t.yaml, document 1 (line 1): parameter COLOR is unknown: use COLOUR"},
		},
		"Type": {
			"the path in it", map[string]string{"t.yaml": aTemplate + "- {name: PORT, value: 80}\n"}, content.Options{},
			[]string{"t.yaml, document 1 (line 1): parameters[2].value is a number: write a string, in quotes"},
		},
		"Object": {
			"its objects are checked as others are", map[string]string{"t.yaml": "kind: Template\napiVersion: v1\nobjects: [{apiVersion: v1, kind: Service}]"}, content.Options{},
			[]string{"cannot read t.yaml, document 1 (line 1), objects[0]: Service has no metadata.name"},
		},
		"Empty": {
			"nothing would be installed", map[string]string{"t.yaml": "kind: Template\napiVersion: v1\nobjects: []"}, content.Options{},
			[]string{"document 1 (line 1): it has no objects"},
		},
		"Twice": {
			"of one name", map[string]string{"t.yaml": aTemplate + "- {name: NAME}\n"}, content.Options{}, []string{"parameters[2].name is NAME again"},
		},
		"Two": {
			"which one is meant", map[string]string{"t.yaml": aTemplate, "u.yaml": aTemplate}, content.Options{Format: "openshift-template"},
			[]string{"more than one Template, in t.yaml, document 1 (line 1) and u.yaml, document 1 (line 1): render the file of one, by its path"},
		},
		"Other": {
			"the format is chosen", map[string]string{"s.yaml": aService}, content.Options{Format: "openshift-template"},
			[]string{`cannot use s.yaml, document 1 (line 1) as a Template: it is Service of "v1": render the file of the Template alone`},
		},
		"Unreadable": {
			"the format is chosen", map[string]string{"s.yaml": "a: ["}, content.Options{Format: "openshift-template"}, []string{"cannot read s.yaml, document 1 (line 1)"},
		},
		"None": {
			"the format is chosen", map[string]string{"README.md": ""}, content.Options{Format: "openshift-template"}, []string{"it contains no manifest"},
		},
		"Parameters": {
			"nothing reads them", map[string]string{"s.yaml": aService}, content.Options{Parameters: map[string]string{"A": "b"}},
			[]string{"parameters are given, which plain does not support: leave them out, or choose format openshift-template"},
		},
		"Values": {
			"only a chart has values", map[string]string{"t.yaml": aTemplate}, content.Options{Format: "openshift-template", Set: []string{"a=b"}},
			[]string{"values are given, but the Template is not part of a chart: give parameters instead"},
		},
		"Watch": {
			"only an operator watches", map[string]string{"t.yaml": aTemplate}, content.Options{Format: "openshift-template", Watch: []string{"a"}}, []string{"namespaces to watch"},
		},
		"Hidden": {
			"a value of a Secret may be in any text of the Template",
			map[string]string{"Chart.yaml": aChart, "templates/t.yaml": aTemplate + "- {name: \"{{ .Values.colour }}\"}\n"}, content.Options{Values: []content.ValuesFile{secret}},
			[]string{"cannot process the Template of shop/templates/t.yaml, document 1 (line 1) (details hidden"},
		},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			_, err := render.Render(t.Context(), treeOf(t, tc.files), tc.options)
			require.Error(t, err, tc.why)
			for _, want := range tc.want {
				assert.ErrorContains(t, err, want, tc.why)
			}
			assert.NotContains(t, err.Error(), hush)
		})
	}
}

// The digest of the input covers the parameters, which give other objects, and the version of the rules.
func TestTemplateDigest(t *testing.T) {
	tree := treeOf(t, map[string]string{"t.yaml": aTemplate})
	render := func(colour string) render.Rendered {
		rendered, err := render.Render(t.Context(), tree, content.Options{Parameters: map[string]string{"COLOUR": colour}})
		require.NoError(t, err)
		return rendered
	}
	red := render("red")
	assert.Equal(t, red, render("red"))
	assert.NotEqual(t, red.Digest, render("blue").Digest)
	want, err := bundle.Input{
		Content: tree.Digest(), Format: bundle.OpenShiftTemplate, Values: map[string]any{}, Parameters: map[string]string{"COLOUR": "red"},
		Renderer: openshift.Renderer,
	}.Digest()
	require.NoError(t, err)
	assert.Equal(t, want, red.Digest)
}
