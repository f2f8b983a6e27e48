package fleet_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
)

// The fields that a chart adds are those of its schema (FLEET.md D2).
func TestSpecFields(t *testing.T) {
	tests := map[string]struct {
		why, schema string
		want        []string
		err         string
	}{
		"None":     {why: "a chart may have no schema"},
		"Open":     {why: "a schema may say nothing about items", schema: `{"properties": {"integrations": {"type": "array"}, "x": {"items": {"properties": {"a": {}}}}}}`},
		"Items":    {why: "D2", schema: `{"properties": {"integrations": {"items": {"properties": {"b": {}, "a": {}}}}}}`, want: []string{"a", "b"}},
		"CronJobs": {why: "both lists have specs", schema: `{"properties": {"integrations": {"items": {"properties": {"a": {}}}}, "cronjobs": {"items": {"properties": {"a": {}, "c": {}}}}}}`, want: []string{"a", "c"}},
		"Draft7":   {why: "charts have older schemas", schema: `{"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"integrations": {"items": {"properties": {"a": {}}}}}}`, want: []string{"a"}},
		"References": {
			why: "a schema names parts of itself", schema: `{"allOf": [{"properties": {"integrations": {"$ref": "#/$defs/list"}}}], "$defs": {
				"list": {"items": {"$ref": "#/$defs/item"}},
				"item": {"properties": {"a": {}}, "allOf": [{"properties": {"b": {}}}, {"$ref": "#/$defs/more"}]},
				"more": {"properties": {"c": {}}, "allOf": [{"$ref": "#/$defs/item"}]}}}`, want: []string{"a", "b", "c"},
		},
		"Outside": {why: "nothing is fetched", schema: `{"properties": {"integrations": {"$ref": "https://example.org/a.json"}}}`, err: "may not refer to anything outside the chart"},
		"File":    {why: "nothing is read", schema: `{"$ref": "file:///etc/hostname"}`, err: "may not refer to anything outside the chart"},
		"Huge":    {why: "it would take minutes", schema: `{"allOf": [{"maximum": 1e999999999}]}`, err: "number 1e999999999 is not between 1e-15 and 1e15"},
		"Tiny":    {why: "so would this", schema: `{"minimum": -1.5e-999999999}`, err: "number -1.5e-999999999 is not between"},
		"Zero":    {why: "a number like others", schema: `{"minimum": -0.0e999999999, "maximum": 0.5}`},
		"Text":    {why: "not JSON", schema: `{`, err: "cannot use values.schema.json"},
		"Wrong":   {why: "not a schema", schema: `{"type": "aray"}`, err: "cannot use values.schema.json"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			s, err := fleet.ParseSchema([]byte(tc.schema))
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err, tc.why)
				return
			}
			require.NoError(t, err, tc.why)
			assert.Equal(t, tc.want, s.SpecFields(), tc.why)
		})
	}
}

// A spec that the chart's schema refuses is an error with file and line (FLEET.md D2, FLEET-DESIGN.md 9).
func TestSchemaCheck(t *testing.T) {
	const schema = `{"properties": {
		"integrations": {"$ref": "#/$defs/list"},
		"cronjobs": {"items": {"allOf": [{"$ref": "#/$defs/item"}], "required": ["colour"]}}}, "required": ["image"],
	"$defs": {
		"list": {"items": {"$ref": "#/$defs/item"}},
		"item": {"additionalProperties": false, "properties": {
			"name": {}, "shard_specs": {"items": {"properties": {"extra_args": {"pattern": "^( --|$)"}}}}, "resources": {}, "cron": {}, "extraArgs": {},
			"colour": {"enum": ["red", "blue"]}, "size": {"type": "integer", "maximum": 5}, "state": {}, "shape": {"properties": {"round": {"type": "boolean"}}, "additionalProperties": false},
			"extraEnv": {"items": {"properties": {"name": {"pattern": "^[A-Z]*$"}}}}}}}}`
	tests := map[string]struct {
		why, spec string
		// want is a part of each problem; the spec's fields begin at line 6.
		want []string
	}{
		"Fits":     {why: "what the values of the chart add is not demanded of an item", spec: "colour: red\n    size: 5\n    shape: {round: true}"},
		"Enum":     {why: "the line of the field", spec: "size: 1\n    colour: green", want: []string{`/int/x.yml:7: field "colour" does not fit the chart's values.schema.json: value must be one of 'red', 'blue': correct it`}},
		"Number":   {why: "a limit", spec: "size: 6", want: []string{`/int/x.yml:6: field "size" does not fit the chart's values.schema.json: maximum: got 6, want 5`}},
		"Type":     {why: "a type", spec: `size: "5"`, want: []string{`field "size" does not fit the chart's values.schema.json: got string, want integer`}},
		"Below":    {why: "the path in the field", spec: "shape: {round: 1}", want: []string{`/int/x.yml:6: field "shape.round" does not fit`}},
		"List":     {why: "the path in a list", spec: "extraEnv: [{name: A, value: a}, {name: b, value: b}]", want: []string{`/int/x.yml:6: field "extraEnv.1.name" does not fit the chart's values.schema.json: 'b' does not match pattern`}},
		"Several":  {why: "each has its line", spec: "colour: green\n    size: 9", want: []string{":6: field \"colour\"", ":7: field \"size\""}},
		"Known":    {why: "a field of every spec that this chart does not take", spec: "trigger: true", want: []string{`/int/x.yml:6: the chart has no field "trigger": correct it`}},
		"Unknown":  {why: "a name in a field of the chart", spec: "shape: {rond: true}", want: []string{`/int/x.yml:6: the chart has no field "shape.rond"`}},
		"Shard":    {why: "shards are made of the entry", spec: "extraArgs: x", want: []string{`/int/x.yml:4: field "shard_specs.0.extra_args" does not fit`}},
		"Required": {why: "of the other list; the entry's line", spec: `cron: "1 * * * *"`, want: []string{`/int/x.yml:4: the spec does not fit the chart's values.schema.json: missing property 'colour'`}},
		"Cron":     {why: "the other list", spec: "cron: \"1 * * * *\"\n    colour: red"},
	}
	s, err := fleet.ParseSchema([]byte(schema))
	require.NoError(t, err)
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			file := "-- /int/x.yml --\n$schema: /app-sre/integration-1.yml\nname: x\nmanaged:\n- namespace: {$ref: /ns/stage.yml}\n  spec:\n    " + tc.spec + "\n    resources: {}\n"
			read := read(t, txtar.Parse([]byte(estate+file)), data.Options{SpecFields: s.SpecFields()})
			selected, err := fleet.Select(read, fleet.Filter{Cluster: "one"})
			require.NoError(t, err)
			require.Empty(t, selected.Held)
			require.Len(t, selected.Members, 2)
			assert.Empty(t, s.Check(selected.Members[0]), "what a namespace shares has no item")
			got := s.Check(selected.Members[1])
			if assert.Len(t, got, len(tc.want), tc.why) {
				slices.SortFunc(got, func(a, b data.Problem) int { return strings.Compare(a.String(), b.String()) })
				for i, want := range tc.want {
					assert.Contains(t, got[i].String(), want, tc.why)
				}
			}
			assert.Empty(t, fleet.Schema{}.Check(selected.Members[1]), "without a schema")
		})
	}
}

// FuzzParseSchema reads any text as a schema: its fields have names, each once, in order.
func FuzzParseSchema(f *testing.F) {
	f.Add([]byte(`{"properties": {"integrations": {"items": {"$ref": "#/$defs/a"}}}, "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}, {"properties": {"x": {}}}]}}}`))
	f.Add([]byte(`{"$ref": "#"}`))
	f.Add([]byte(`true`))
	f.Add([]byte(`{"enum": [1e99999999]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := fleet.ParseSchema(text)
		if err != nil {
			return
		}
		assert.True(t, slices.IsSorted(s.SpecFields()))
		assert.Equal(t, s.SpecFields(), slices.Compact(slices.Clone(s.SpecFields())))
	})
}
