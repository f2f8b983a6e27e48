package helm

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	chart "helm.sh/helm/v4/pkg/chart/v2"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// TRUST.md R5: what does not fit a schema is described by the schema alone.
func TestMisfitsQuoteNothing(t *testing.T) {
	tests := map[string]struct{ schema, want string }{
		"Pattern":    {`{"pattern": "^[a-z]*$"}`, "password: does not match pattern '^[a-z]*$'"},
		"Enum":       {`{"enum": ["a", "b"]}`, "password: value must be one of 'a', 'b'"},
		"Const":      {`{"const": "a"}`, "password: value must be 'a'"},
		"Type":       {`{"type": "boolean"}`, "password: got string, want boolean"},
		"Length":     {`{"maxLength": 3}`, "password: maxLength: got 7, want 3"},
		"Not":        {`{"not": {}}`, "password: 'not' failed"},
		"Group":      {`{"anyOf": [{"pattern": "^a"}, {"const": "b"}]}`, "password: does not match pattern '^a'"},
		"Maximum":    {`{"$ref": "#/$defs/any"}`, "port: maximum: want 5"},
		"Properties": {`{}`, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := &chart.Chart{Metadata: &chart.Metadata{Name: "web"}, Schema: []byte(`{"$defs": {"any": {}}, "properties": {"password": ` +
				tc.schema + `, "port": {"maximum": 5, "multipleOf": 4}}}`)}
			err := new(schemas).validateOne(c, map[string]any{"password": "Hunter2", "port": 27182818})
			require.ErrorContains(t, err, tc.want)
			require.ErrorContains(t, err, "port: multipleOf: want 4")
			assert.NotContains(t, err.Error(), "Hunter2")
			assert.NotContains(t, err.Error(), "2718")
			assert.NotContains(t, err.Error(), "27,18")
		})
	}
}

// The place of an error in a template is found before what the template says.
func TestLocated(t *testing.T) {
	err := located("web", errors.New("execution error at (web/templates/a.yaml:2:3): web/templates/b.yaml:9:9"))
	require.EqualError(t, err, "execution error at (web/templates/a.yaml:2:3): web/templates/b.yaml:9:9")
	require.ErrorContains(t, bundle.Unquoted(err), "web/templates/a.yaml:2:3 (details hidden")
	require.ErrorContains(t, bundle.Unquoted(located("web", errors.New("no place"))), "the content is wrong")
}

// TRUST.md R5: a template whose name has characters that places do not have is not located by what its message says.
func TestLocatedByNoMessage(t *testing.T) {
	const fails = `{{ fail (printf "shop/%s:1" .Values.password) }}`
	tests := map[string]struct{ name, want string }{
		"Usual": {"templates/b.yaml", "shop/templates/b.yaml:1:3"},
		"Space": {"templates/b b.yaml", "the content is wrong"},
		"Other": {"templates/b+ü.yaml", "the content is wrong"},
		"Colon": {"templates/b: b.yaml", "the content is wrong"},
		"Below": {"charts/db/templates/b b.yaml", "the content is wrong"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			var tree bundle.Tree
			for name, text := range map[string]string{
				"Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "charts/db/Chart.yaml": "apiVersion: v2\nname: db\nversion: 1.0.0\n",
				tc.name: fails,
			} {
				require.NoError(t, tree.Add(name, bundle.File{Content: []byte(text)}))
			}
			c, err := Load(&tree)
			require.NoError(t, err)
			password := map[string]any{"password": "hunter2"}
			_, _, err = c.Render(t.Context(), Release{Values: map[string]any{"password": "hunter2", "db": password}})
			said := bundle.Unquoted(err).Error()
			assert.Contains(t, said, tc.want)
			assert.NotContains(t, said, "hunter2")
		})
	}
}

// TRUST.md R5: a hook that is left out is noted with events of Helm, and with no other text: a template may put a Secret there.
func TestNotesQuoteNothing(t *testing.T) {
	job := func(name, events string) bundle.Object {
		return bundle.Object{"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{
			"name": name, "annotations": map[string]any{"helm.sh/hook": events},
		}}
	}
	_, notes, err := Hooks([]bundle.Object{job("a", "pre-install,post-upgrade"), job("b", "pre-install,hunter2")}, "", "Job/a", "Job/b")
	require.NoError(t, err)
	assert.Equal(t, []string{"Job a is a hook (pre-install,post-upgrade) and is left out by its name", "Job b is a hook and is left out by its name"}, notes)
}
