package data

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
	"gopkg.in/yaml.v3"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/schema"
)

// described is the part of a JSON Schema that the reader's types say too.
type described struct {
	Properties map[string]described `json:"properties"`
	Required   []string             `json:"required"`
	Enum       []any                `json:"enum"`
	OneOf      []described          `json:"oneOf"`
	Defs       map[string]described `json:"$defs"`
	// AdditionalProperties is false, or describes fields of any name.
	AdditionalProperties any `json:"additionalProperties"`
}

func definition(t *testing.T, name string) described {
	t.Helper()
	text, there := schema.Find(name)
	require.True(t, there, name)
	var d described
	require.NoError(t, json.Unmarshal(text, &d))
	return d
}

// FLEET.md P4: the schemas have every field that the reader has, and no other, with the same rules.
func TestSchemasHaveTheFieldsOfTheReader(t *testing.T) {
	i := definition(t, "integration-1")
	forms := described{Properties: map[string]described{}, AdditionalProperties: false}
	for _, form := range i.Defs["variable"].OneOf {
		maps.Copy(forms.Properties, form.Properties)
		assert.Equal(t, false, form.AdditionalProperties)
	}
	var override rawOverride
	tests := map[string]struct {
		schema described
		target any
		// files have a $schema, which is not among the fields of some types.
		file bool
		open bool
		// lacks are fields of the type that other kinds of file have.
		lacks []string
	}{
		"integration":   {schema: i, target: &rawIntegration{}, file: true},
		"entry":         {schema: i.Defs["entry"], target: &rawEntry{}},
		"spec":          {schema: i.Defs["spec"], target: &rawSpec{}, open: true},
		"sharding":      {schema: i.Defs["sharding"], target: &rawSharding{}},
		"override":      {schema: i.Defs["override"], target: &override},
		"subSharding":   {schema: i.Defs["override"].Properties["subSharding"], target: reflect.New(reflect.TypeOf(override.SubSharding).Elem()).Interface()},
		"oldOverride":   {schema: i.Defs["oldOverride"], target: &oldOverride{}},
		"variable":      {schema: forms, target: &Variable{}},
		"logs":          {schema: i.Defs["logs"], target: &Logs{}},
		"resources":     {schema: i.Defs["resources"], target: &Resources{}},
		"amounts":       {schema: i.Defs["amounts"], target: &Amounts{}},
		"namespace":     {schema: definition(t, "namespace-1"), target: &rawNamespace{}, file: true, open: true},
		"leanNamespace": {schema: definition(t, "lean-namespace-1"), target: &rawNamespace{}, file: true, open: true},
		"environment":   {schema: definition(t, "environment-1"), target: &rawEnvironment{}, file: true, open: true},
		"account":       {schema: definition(t, "account-1"), target: &rawObject{}, file: true, open: true, lacks: []string{"orgId"}},
		"cluster": {
			schema: definition(t, "cluster-1"), target: &struct {
				rawObject `yaml:",inline"`
				ServerURL string `yaml:"serverUrl"`
			}{}, file: true, open: true, lacks: []string{"orgId"},
		},
		"organisation": {schema: definition(t, "openshift-cluster-manager-1"), target: &rawObject{}, file: true, open: true},
		"disable":      {schema: definition(t, "account-1").Properties["disable"], target: &Disable{}, open: true},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			fields, _ := targets(reflect.ValueOf(tc.target).Elem())
			var known, required []string
			for _, f := range fields {
				if slices.Contains(tc.lacks, f.name) {
					continue
				}
				known = append(known, f.name)
				allowed := tc.schema.Properties[f.name].Enum
				switch {
				case f.rule == "required":
					required = append(required, f.name)
				case f.rule != "":
					assert.Equal(t, strings.Fields(f.rule), texted(allowed), f.name)
				case f.value.Type() == reflect.TypeFor[Strategy](), f.value.Type() == reflect.TypeFor[*Strategy]():
					assert.Equal(t, strategies, texted(allowed), f.name)
				default:
					assert.Empty(t, allowed, f.name)
				}
			}
			if tc.file {
				known, required = append(known, "$schema"), append(required, "$schema")
			}
			if label == "organisation" {
				required = append(required, "orgId") // readObject checks it
			}
			assert.ElementsMatch(t, slices.Compact(slices.Sorted(slices.Values(known))), slices.Collect(maps.Keys(tc.schema.Properties)))
			assert.ElementsMatch(t, required, tc.schema.Required)
			assert.Equal(t, tc.open, tc.schema.AdditionalProperties != false, "unknown fields are allowed, or not")
		})
	}
}

// texted returns the texts of an enumeration.
func texted(all []any) []string {
	var texts []string
	for _, v := range all {
		texts = append(texts, fmt.Sprint(v))
	}
	return texts
}

// schemas compiles each schema when it is first asked for.
type schemas map[string]*jsonschema.Schema

// fits reports whether a document fits its schema.
func (all schemas) fits(t *testing.T, name string, document any) bool {
	t.Helper()
	if all[name] == nil {
		text, there := schema.Find(name)
		require.True(t, there, name)
		s, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		require.NoError(t, err)
		compiler := jsonschema.NewCompiler()
		require.NoError(t, compiler.AddResource("test://schema", s))
		all[name], err = compiler.Compile("test://schema")
		require.NoError(t, err)
	}
	text, err := json.Marshal(document)
	require.NoError(t, err)
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	return all[name].Validate(instance) == nil
}

// contents returns files as the reader takes them.
func contents(t *testing.T, files map[string]any) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for name, document := range files {
		text, err := json.MarshalIndent(document, "", " ")
		require.NoError(t, err)
		all[name] = text
	}
	return all
}

// readable reports whether the reader finds no problem in files.
func readable(contents map[string][]byte) (bool, string) {
	d := Read(contents, Options{})
	all := slices.Clone(d.Problems)
	for _, o := range d.Objects {
		all = append(all, o.Held...)
	}
	for _, i := range d.Integrations {
		all = append(all, i.Held...)
		for _, e := range i.Entries {
			all = append(all, e.Held...)
		}
	}
	return len(all) == 0, fmt.Sprint(all)
}

// documents returns the files of testdata/schema.txtar, by name, and the schema of each.
func documents(t *testing.T) (files map[string]any, kinds map[string]string) {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/schema.txtar")
	require.NoError(t, err)
	files, kinds = map[string]any{}, map[string]string{}
	for _, f := range archive.Files {
		var document map[string]any
		require.NoError(t, yaml.Unmarshal(f.Data, &document), f.Name)
		files[f.Name] = document
		path, _ := document["$schema"].(string)
		kinds[f.Name] = strings.TrimSuffix(path[strings.LastIndex(path, "/")+1:], ".yml")
	}
	return files, kinds
}

// fault is a small change of a document, described for people.
type fault struct {
	change   string
	document any
	// optional reports a field that a chart may have added.
	optional bool
}

// faults returns a document with one field removed, unknown or of another type, in every place.
func faults(document any, at string) []fault {
	var all []fault
	switch v := document.(type) {
	case map[string]any:
		more := maps.Clone(v)
		more["colour"] = "red"
		all = append(all, fault{at + ": unknown field", more, strings.HasSuffix(at, "/spec")})
		for name := range v {
			less := maps.Clone(v)
			delete(less, name)
			all = append(all, fault{at + "/" + name + ": missing", less, false})
			for _, f := range faults(v[name], at+"/"+name) {
				changed := maps.Clone(v)
				changed[name] = f.document
				all = append(all, fault{f.change, changed, f.optional})
			}
		}
		return append(all, fault{at + ": a text", "x", false}, fault{at + ": a list", []any{"x"}, false})
	case []any:
		for i, item := range v {
			for _, f := range faults(item, fmt.Sprintf("%s/%d", at, i)) {
				changed := slices.Clone(v)
				changed[i] = f.document
				all = append(all, fault{f.change, changed, f.optional})
			}
		}
		return append(all, fault{at + ": a text", "x", false}, fault{at + ": a mapping", map[string]any{"x": "y"}, false})
	default:
		return []fault{
			{at + ": a number", 5, false}, {at + ": another text", "x", false}, {at + ": an empty text", "", false}, {at + ": a boolean", true, false},
			{at + ": zero", 0, false}, {at + ": a negative number", -1, false}, {at + ": a list", []any{"x"}, false},
			{at + ": a mapping", map[string]any{"x": "y"}, false},
		}
	}
}

// A document that the reader refuses does not fit its schema, and one that it accepts does: tried with every fault of
// one field (FLEET.md P4).
func TestSchemasAgreeWithTheReader(t *testing.T) {
	files, kinds := documents(t)
	all := schemas{}
	original := contents(t, files)
	good, problems := readable(original)
	require.True(t, good, problems)
	count := 0
	for name, document := range files {
		require.True(t, all.fits(t, kinds[name], document), name)
		for _, f := range faults(document, "") {
			root, _ := f.document.(map[string]any)
			if root["$schema"] != document.(map[string]any)["$schema"] { // it is no file of this kind
				assert.False(t, all.fits(t, kinds[name], f.document), "%s%s", name, f.change)
				continue
			}
			if f.optional {
				continue // the chart decides
			}
			changed := maps.Clone(original)
			maps.Copy(changed, contents(t, map[string]any{name: root}))
			accepted, problems := readable(changed)
			assert.Equal(t, accepted, all.fits(t, kinds[name], root), "%s%s: the reader finds %s", name, f.change, problems)
			count++
		}
	}
	assert.Greater(t, count, 300)
}

// The documents of the examples fit.
func TestExamplesFitTheSchemas(t *testing.T) {
	count, all := 0, schemas{}
	for _, folder := range []string{"../../../deployment/examples/fleet/data", "../../../deployment/examples/fleet/large/data"} {
		files := os.DirFS(folder)
		require.NoError(t, fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			text, err := fs.ReadFile(files, name)
			require.NoError(t, err)
			var document map[string]any
			require.NoError(t, yaml.Unmarshal(text, &document), name)
			path, _ := document["$schema"].(string)
			if slices.Contains(read, path) {
				assert.True(t, all.fits(t, strings.TrimSuffix(path[strings.LastIndex(path, "/")+1:], ".yml"), document), "%s/%s", folder, name)
				count++
			}
			return nil
		}))
	}
	assert.Greater(t, count, 80)
}

// The shapes of an entry exclude each other, for the reader and for the schema (FLEET.md D1, P4).
func TestSchemasAgreeOnShapes(t *testing.T) {
	const account, cluster = "{shard: {$ref: /aws/one.yml}", "{shard: {$ref: /cluster/one.yml}"
	tests := map[string]struct {
		why, entry string
		good       bool
		// schema is what the schema says where it says another thing.
		schema bool
	}{
		"Least":       {why: "what every entry has", entry: "spec: {resources: {}}", good: true, schema: true},
		"Cluster":     {why: "shards of clusters are divided", entry: "spec: {resources: {}}, sharding: {strategy: per-openshift-cluster, shardSpecOverrides: [" + cluster + ", subSharding: {shards: 2}}]}", good: true, schema: true},
		"Account":     {why: "shards of accounts are not", entry: "spec: {resources: {}}, sharding: {strategy: per-aws-account, shardSpecOverrides: [" + account + ", subSharding: {shards: 2}}]}"},
		"Static":      {why: "nor static ones", entry: "spec: {resources: {}}, sharding: {strategy: static, shardSpecOverrides: [" + account + ", subSharding: {shards: 2}}]}"},
		"TwoPlaces":   {why: "beside and inside", entry: "spec: {resources: {}, sharding: {strategy: static}}, sharding: {strategy: static}"},
		"TwoAges":     {why: "beside, and fields inside", entry: "spec: {resources: {}, shards: 2}, sharding: {strategy: static}"},
		"TwoNames":    {why: "beside, and a strategy inside", entry: "spec: {resources: {}, shardingStrategy: static}, sharding: {strategy: static}"},
		"OldBeside":   {why: "beside, and older overrides", entry: "spec: {resources: {}}, sharding: {strategy: per-aws-account}, shardSpecOverride: [" + account + ", imageRef: a}]"},
		"OldInside":   {why: "inside, and older overrides", entry: "spec: {resources: {}, sharding: {strategy: per-aws-account}}, shardSpecOverride: [" + account + ", imageRef: a}]"},
		"AgesInside":  {why: "inside, in two ways", entry: "spec: {resources: {}, sharding: {strategy: static}, shards: 2}"},
		"NamesInside": {why: "inside, with overrides", entry: "spec: {resources: {}, sharding: {strategy: per-aws-account}, shardSpecOverrides: [" + account + "}]}"},
		"Added":       {why: "a chart may have the field: the reader knows which one has it", entry: "spec: {resources: {}, priority: high}", schema: true},
		"Most":        {why: "as many shards as there may be", entry: "spec: {resources: {}}, sharding: {strategy: static, shards: 1000}", good: true, schema: true},
		"TooMany":     {why: "one more", entry: "spec: {resources: {}}, sharding: {strategy: static, shards: 1001}"},
		"TooManyOld":  {why: "one more, inside", entry: "spec: {resources: {}, shards: 1001}"},
		"TooManySub":  {why: "one more, of a shard", entry: "spec: {resources: {}}, sharding: {strategy: per-openshift-cluster, shardSpecOverrides: [" + cluster + ", subSharding: {shards: 1001}}]}"},
		"NoVariable":  {why: "a variable of both forms", entry: "spec: {resources: {}, extraEnv: [{name: A, value: b, secretName: s, secretKey: k}]}"},
	}
	files, _ := documents(t)
	maps.DeleteFunc(files, func(name string, _ any) bool { return strings.HasPrefix(name, "int/") })
	all := schemas{}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			var document map[string]any
			text := "$schema: /app-sre/integration-1.yml\nname: one\nmanaged: [{namespace: {$ref: /ns/one.yml}, " + tc.entry + "}]\n"
			require.NoError(t, yaml.Unmarshal([]byte(text), &document))
			with := maps.Clone(files)
			with["int/one.yml"] = document
			good, problems := readable(contents(t, with))
			assert.Equal(t, tc.good, good, "%s: %s", tc.why, problems)
			assert.Equal(t, tc.schema, all.fits(t, "integration-1", document), tc.why)
			document["operate"] = document["managed"]
			assert.False(t, all.fits(t, "integration-1", document), "a file has one list")
			document["managed"] = []any{}
			assert.Equal(t, tc.schema, all.fits(t, "integration-1", document), "an empty list is none")
		})
	}
}

// A parameter without a value is an error in both (FLEET.md P4).
func TestSchemasAgreeOnParameters(t *testing.T) {
	files, _ := documents(t)
	environment := map[string]any{"$schema": environmentSchema, "name": "one", "parameters": map[string]any{"IMAGE_TAG": nil}}
	files["env/one.yml"] = environment
	good, _ := readable(contents(t, files))
	assert.False(t, good)
	assert.False(t, schemas{}.fits(t, "environment-1", environment))
}
