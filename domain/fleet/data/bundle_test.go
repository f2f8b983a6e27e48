package data_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
)

// integration is a data file as a bundle holds it.
const integration = `{"$schema": "/app-sre/integration-1.yml", "name": "x", "description": "\ud83d\ude00", "managed": [
  {"namespace": {"$ref": "/ns/stage.yml"}, "spec": {"resources": {}, "shards": 2}}]}`

// bundled returns the files of a txtar archive as a bundle.
func bundled(t require.TestingT, files string) []byte {
	all := map[string]any{}
	for _, f := range txtar.Parse([]byte(files)).Files {
		var content any
		require.NoError(t, yaml.Unmarshal(f.Data, &content))
		all[f.Name] = content
	}
	written, err := json.Marshal(map[string]any{"git_commit": "c", "data": all, "resources": map[string]any{}, "graphql": []any{}})
	require.NoError(t, err)
	return written
}

// A bundle is the data files that it holds, wherever it lies (FLEET.md D5).
func TestBundle(t *testing.T) {
	text := `{"git_commit": "c", "schemas": {}, "graphql": {}, "resources": {"/a": {}}, "data": {"/int/x.yml": ` + integration +
		`, "/other.yml": {"$schema": "/other-1.yml", "large": [1, 2]}}}`
	for why, contents := range map[string]map[string][]byte{
		"the file of a source":   {"bundle.json": []byte(text)},
		"in a folder, by a text": {"out/data.txt": []byte("\ufeff \n" + text), "README.md": []byte("# Read me\n"), "values.yml": []byte("a: b\n")},
		"with few keys":          {"b": []byte(`{"data": {"/int/x.yml": ` + integration + `, "/other.yml": {"$schema": "/other-1.yml"}}}`)},
		"its data first":         {"b": []byte(`{"data": {"/int/x.yml": ` + integration + `, "/other.yml": {"$schema": "/other-1.yml"}}, "resources": {}}`), "c": nil},
	} {
		files, err := data.Files(contents)
		require.NoError(t, err, why)
		assert.Equal(t, []string{"/int/x.yml", "/other.yml"}, slices.Sorted(maps.Keys(files)), why)
		assert.JSONEq(t, `{"$schema": "/other-1.yml"}`, string(files["/other.yml"]), why)
		d := data.Read(files, data.Options{})
		require.Len(t, d.Integrations, 1, why)
		assert.Equal(t, "😀", d.Integrations[0].Description, why)
		assert.True(t, d.Has("/other.yml"), why)
		assert.Equal(t, []string{
			"/int/x.yml#/managed/0/namespace/$ref: /ns/stage.yml is not in the data: use one of /int/x.yml, /other.yml",
		}, problems(d), why)
	}
}

// A directory and a bundle of its files mean the same, but for lines.
func TestBundleMeansItsFiles(t *testing.T) {
	files := estate + "-- /int/x.yml --\n$schema: /app-sre/integration-1.yml\nname: x\nmanaged:\n" +
		"- namespace: {$ref: /ns/stage.yml}\n  spec: {resources: {limits: {memory: 1Mi}}}\n  sharding: {strategy: per-aws-account}\n" +
		"- namespace: {$ref: /ns/lean.yml}\n  spec: {resources: {}, extraArg: x}\n"
	expanded, err := data.Files(map[string][]byte{"b.json": bundled(t, files)})
	require.NoError(t, err)
	contents := map[string][]byte{}
	for _, f := range txtar.Parse([]byte(files)).Files {
		contents[f.Name] = f.Data
	}
	want, got := data.Read(contents, data.Options{}), data.Read(expanded, data.Options{})
	require.Len(t, got.Integrations, 1)
	assert.Equal(t, want.Integrations[0].Entries[0].Namespace, got.Integrations[0].Entries[0].Namespace)
	assert.Equal(t, want.Integrations[0].Entries[0].Spec, got.Integrations[0].Entries[0].Spec)
	assert.Len(t, got.Objects[data.PerAccount].All, 2)
	assert.Equal(t, []string{`/int/x.yml#/managed/1/spec/extraArg: unknown field "extraArg": did you mean "extraArgs"?`}, problems(got))
}

// A bundle that cannot be read, or is not alone, is an error of the whole source (FLEET.md D5).
func TestBundleErrors(t *testing.T) {
	file := `{"$schema": "/other-1.yml"}`
	b := `{"git_commit": "c", "data": {"/a.yml": ` + file + `}}`
	tests := map[string]struct {
		contents map[string]string
		want     string
	}{
		"Two":          {map[string]string{"a.json": b, "b.json": b}, "cannot use bundle a.json: b.json is a bundle too: keep one of them"},
		"Beside":       {map[string]string{"b.json": b, "x.yml": "$schema: /other-1.yml\n"}, "cannot use bundle b.json: x.yml is a data file beside it"},
		"Truncated":    {map[string]string{"b.json": b[:len(b)-20]}, "cannot use bundle b.json: it breaks off at byte 48: write it again, whole"},
		"CutEarly":     {map[string]string{"b.json": b[:10]}, "it breaks off at byte 10"},
		"CutBeside":    {map[string]string{"b.json": b[:len(b)-1], "README.md": "x"}, "it breaks off"},
		"More":         {map[string]string{"b.json": b + b}, "it is not valid JSON at byte 69"},
		"NoData":       {map[string]string{"b.json": `{"git_commit": "c"}`}, `field "data" is missing`},
		"Answer":       {map[string]string{"b.json": `{"error": "no such file"}`}, `field "data" is missing`},
		"NullData":     {map[string]string{"b.json": `{"data": null}`}, `field "data" is missing`},
		"DataList":     {map[string]string{"b.json": `{"data": []}`}, `field "data" is not an object`},
		"NoSlash":      {map[string]string{"b.json": `{"data": {"a~b/c.yml": ` + file + `}}`}, "b.json: #/data/a~0b~1c.yml: the path of a data file begins with a slash"},
		"Upwards":      {map[string]string{"b.json": `{"data": {"/../a.yml": ` + file + `}}`}, "the path of a data file"},
		"TwoSlashes":   {map[string]string{"b.json": `{"data": {"//a.yml": ` + file + `}}`}, "the path of a data file"},
		"NoPath":       {map[string]string{"b.json": `{"data": {"/": ` + file + `}}`}, "the path of a data file"},
		"Text":         {map[string]string{"b.json": `{"data": {"/a.yml": "text"}}`}, "#/data/~1a.yml: a data file is an object"},
		"Null":         {map[string]string{"b.json": `{"data": {"/a.yml": null}}`}, "a data file is an object"},
		"NoSchema":     {map[string]string{"b.json": `{"data": {"/a.yml": {"name": "x"}}}`}, `field "$schema" is missing`},
		"SchemaNumber": {map[string]string{"b.json": `{"data": {"/a.yml": {"$schema": 1}}}`}, `field "$schema" is missing`},
	}
	for name, test := range tests {
		contents := map[string][]byte{}
		for file, text := range test.contents {
			contents[file] = []byte(text)
		}
		files, err := data.Files(contents)
		require.ErrorContains(t, err, test.want, name)
		assert.Nil(t, files, name)
	}
}

// Other JSON is not taken for a bundle.
func TestNoBundle(t *testing.T) {
	for why, contents := range map[string]map[string][]byte{
		"one data file":                       {"/a.json": []byte(integration)},
		"a ConfigMap beside data":             {"/a.json": []byte(`{"kind": "ConfigMap", "data": {"a": "b"}}`), "/b.yml": []byte("$schema: /other-1.yml\n")},
		"a data file with fields of a bundle": {"/a.json": []byte(`{"$schema": "/other-1.yml", "data": {}, "resources": {}}`), "/b.yml": nil},
		"YAML":                                {"/a.yml": []byte("git_commit: c\n")},
		"a list":                              {"/a.json": []byte("[]")},
		"nothing":                             {},
	} {
		files, err := data.Files(contents)
		require.NoError(t, err, why)
		assert.Equal(t, contents, files, why)
	}
}

// All digits of numbers, and all characters, stay.
func TestBundleKeepsValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, number := rapid.StringMatching(`[ -~ ¡-￼]{0,20}`).Draw(t, "text"), rapid.Int64().Draw(t, "number")
		file, err := json.Marshal(map[string]any{"$schema": "/app-sre/environment-1.yml", "name": "e", "parameters": map[string]any{"A": text, "B": number}})
		require.NoError(t, err)
		files, err := data.Files(map[string][]byte{"b.json": []byte(`{"data": {"/e.yml": ` + string(file) + `}}`)})
		require.NoError(t, err)
		assert.JSONEq(t, string(file), string(files["/e.yml"]))
		assert.Contains(t, string(files["/e.yml"]), strconv.FormatInt(number, 10))
		var read struct{ Parameters map[string]any }
		require.NoError(t, yaml.Unmarshal(files["/e.yml"], &read))
		assert.Equal(t, text, read.Parameters["A"])
	})
}

// FuzzFiles reads any bundle, beside another file and alone.
func FuzzFiles(f *testing.F) {
	f.Add([]byte(`{"git_commit": "c", "data": {"/int/x.yml": ` + integration + `}}`))
	f.Add([]byte(`{"data": {"/a": {"$schema": "/aws/account-1.yml", "name": 1e999}}, "resources": {}}`))
	f.Add([]byte(`{"data": {"a": {}}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, contents := range []map[string][]byte{{"b": content}, {"b": content, "README": nil}} {
			files, err := data.Files(contents)
			if err != nil {
				continue
			}
			d := data.Read(files, data.Options{})
			for name := range files {
				assert.True(t, d.Has(name))
			}
		}
	})
}
