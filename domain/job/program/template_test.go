package program_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/program"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/tooltype"
)

const parameters = `{"type": "object", "additionalProperties": false, "required": ["size", "token"],
	"properties": {"size": {"type": "integer", "maximum": 9}, "token": {"type": "string"}, "zones": {"type": "array", "items": {"type": "string"}}}}`

// template returns a template without a fault.
func template(t *testing.T) program.TemplateVersion {
	t.Helper()
	schema, err := program.ParseSchema([]byte(parameters))
	require.NoError(t, err)
	return program.TemplateVersion{
		Name: "db", Image: "registry/db@sha256:" + strings.Repeat("a", 64), Contract: "v1", Schema: schema, Sensitive: []string{"token"},
		Actions: map[string]run.Action{"deploy": {Entrypoint: []string{"/run.sh"}}}, Files: run.Files{Exclude: []string{".terraform/*"}},
	}
}

// Every fault of a template is named, with its cure.
func TestCheckTemplate(t *testing.T) {
	require.NoError(t, template(t).Check())
	readable, err := program.ParseSchema([]byte(`{"properties": {"token": {"default": "x"}}}`))
	require.NoError(t, err)
	tests := map[string]struct {
		change func(*program.TemplateVersion)
		says   string
	}{
		"Tag":        {func(t *program.TemplateVersion) { t.Image = "registry/db:latest" }, "names no digest"},
		"Short":      {func(t *program.TemplateVersion) { t.Image = "db@sha256:abc" }, "names no digest"},
		"Contract":   {func(t *program.TemplateVersion) { t.Contract = "v9" }, "use v1"},
		"Safety":     {func(t *program.TemplateVersion) { t.Safety = "exclusiv" }, `did you mean "exclusive"?`},
		"Type":       {func(t *program.TemplateVersion) { t.Type = "opentufu" }, `did you mean "opentofu"?`},
		"NoAction":   {func(t *program.TemplateVersion) { t.Actions = nil }, "it has no action"},
		"NoProgram":  {func(t *program.TemplateVersion) { t.Actions = map[string]run.Action{"deploy": {}} }, "no entrypoint"},
		"Exclude":    {func(t *program.TemplateVersion) { t.Exclude = []string{"../x"} }, "must be a glob"},
		"Absolute":   {func(t *program.TemplateVersion) { t.Rescue = []string{"/etc/passwd"} }, "must be a glob"},
		"Pattern":    {func(t *program.TemplateVersion) { t.Rescue = []string{"[a"} }, "must be a glob"},
		"Sensitive":  {func(t *program.TemplateVersion) { t.Sensitive = []string{"tokn"} }, `did you mean "token"?`},
		"Readable":   {func(t *program.TemplateVersion) { t.Schema = readable }, `sensitive parameter "token" has a default, which all can read`},
		"TwoAtOnce!": {func(t *program.TemplateVersion) { t.Image, t.Contract = "x", "v9" }, "names no digest: write NAME@sha256:… so that a run is the same tomorrow\ncannot"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			broken := template(t)
			tc.change(&broken)
			assert.ErrorContains(t, broken.Check(), tc.says)
		})
	}
}

// A type brings its patterns, once, and is frozen.
func TestFreezeType(t *testing.T) {
	typed := template(t)
	typed.Type, typed.Exclude = tooltype.OpenTofu, []string{"cache/", ".terraform/"}
	input, err := typed.Freeze("deploy", map[string]any{"size": 3}, secrets())
	require.NoError(t, err)
	assert.Equal(t, tooltype.OpenTofu, input.Type)
	assert.Equal(t, []string{"cache/", ".terraform/", "*.tfstate.backup", ".terraform.tfstate.lock.info"}, input.Exclude)
	assert.Equal(t, []string{"errored.tfstate"}, input.Rescue)
	assert.Equal(t, []string{"cache/", ".terraform/"}, typed.Exclude)
}

// An input has every default and no secret; equal inputs have equal digests, and no others.
func TestFreeze(t *testing.T) {
	given := map[string]any{"size": 3, "token": map[string]any{"fromFile": "/run/orcon/secrets/token"}, "zones": []any{"a"}}
	input, err := template(t).Freeze("deploy", given, secrets())
	require.NoError(t, err)
	assert.Equal(t, given["token"], input.Parameters["token"])
	assert.Equal(t, secrets(), input.Secrets)
	first, err := input.Digest()
	require.NoError(t, err)
	again, err := template(t).Freeze("deploy", map[string]any{"zones": []any{"a"}, "size": 3}, secrets())
	require.NoError(t, err)
	second, err := again.Digest()
	require.NoError(t, err)
	assert.Equal(t, first, second, "a file of its name is that of the parameter")
	again.Parameters["size"] = 4
	third, err := again.Digest()
	require.NoError(t, err)
	assert.NotEqual(t, first, third)
}

// secrets has the file of token, and another one.
func secrets() []run.SecretFile {
	return []run.SecretFile{{Name: "token", Secret: "db", Key: "token"}, {Name: "other", Secret: "db", Key: "other"}}
}

// JOBS.md J14: a sensitive parameter is the path of a file of a secret, and its value is in no input and no message.
func TestFreezeSensitive(t *testing.T) {
	read := func(path string) map[string]any { return map[string]any{"fromFile": path} }
	const wrong, hidden = "is sensitive, and all can read parameters: remove it from spec.parameters", "hunter2"
	for label, tc := range map[string]struct {
		given any
		want  map[string]any
		says  string
	}{
		"Implied": {nil, read("/run/orcon/secrets/token"), ""},
		"Named":   {read("/run/orcon/secrets/other"), read("/run/orcon/secrets/other"), ""},
		"Plain":   {hidden, nil, wrong},
		"Number":  {42, nil, wrong},
		"Object":  {map[string]any{"fromFile": "/run/orcon/secrets/token", "value": hidden}, nil, wrong},
		"Outside": {read("/etc/hunter2"), nil, wrong},
		"Relative": {read("/run/orcon/secrets/../token"), nil, `parameter "token" reads file "../token", which no entry of spec.secrets has: ` +
			`add {name: ../token, secret: SECRET, key: KEY} to spec.secrets`},
	} {
		t.Run(label, func(t *testing.T) {
			given := map[string]any{"size": 3}
			if tc.given != nil {
				given["token"] = tc.given
			}
			input, err := template(t).Freeze("deploy", given, secrets())
			if tc.says != "" {
				require.ErrorContains(t, err, tc.says)
				assert.NotContains(t, err.Error(), hidden)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.want, input.Parameters["token"])
		})
	}
	none, err := template(t).Freeze("deploy", map[string]any{"size": 3}, nil)
	require.ErrorContains(t, err, "missing property 'token'")
	assert.Empty(t, none)
}

// A member that is null is none: the API server drops it from what it stores, and the digest would differ.
func TestFreezeDropsNull(t *testing.T) {
	open := template(t)
	open.Schema, open.Sensitive = program.Schema{}, []string{"token"}
	given := map[string]any{
		"none": nil, "token": nil, "object": map[string]any{"none": nil, "some": 1}, "list": []any{nil, map[string]any{"none": nil}},
	}
	input, err := open.Freeze("deploy", given, nil)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"object": map[string]any{"some": 1}, "list": []any{nil, map[string]any{}}}, input.Parameters)
	assert.Len(t, given, 4, "the caller's values stay")
}

// What does not fit is named with its parameter.
func TestFreezeRefuses(t *testing.T) {
	tests := map[string]struct {
		action string
		values map[string]any
		says   string
	}{
		"Action":  {"deply", map[string]any{"size": 3}, `it has no action "deply" (did you mean "deploy"?)`},
		"Unknown": {"deploy", map[string]any{"size": 3, "zone": 1}, `parameter "zone" is unknown (did you mean "zones"?)`},
		"Type":    {"deploy", map[string]any{"size": "3"}, `parameter "size" does not fit: got string, want integer`},
		"Large":   {"deploy", map[string]any{"size": 10}, `parameter "size" does not fit`},
		"Deep":    {"deploy", map[string]any{"size": 1, "zones": []any{1}}, `parameter "zones.0" does not fit`},
		"Missing": {"deploy", nil, "missing property 'size'"},
		"Number":  {"deploy", map[string]any{"size": 1e300}, "is not between"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			_, err := template(t).Freeze(tc.action, tc.values, secrets())
			assert.ErrorContains(t, err, tc.says)
		})
	}
	open := template(t)
	open.Schema = program.Schema{}
	_, err := open.Freeze("deploy", nil, nil)
	require.NoError(t, err, "without a schema everything is allowed")
}

// A schema that refers elsewhere, or with which the library does not come to an end, is refused.
func TestParseSchema(t *testing.T) {
	for label, text := range map[string]string{
		"Text": `{`, "Outside": `{"$ref": "https://example.org/x.json"}`, "File": `{"$ref": "file:///etc/passwd"}`,
		"Number": `{"maximum": 1e999999999}`, "Type": `{"type": "integr"}`, "Large": `{"title": "` + strings.Repeat("x", program.MaxSchema) + `"}`,
	} {
		_, err := program.ParseSchema([]byte(text))
		assert.Error(t, err, label)
	}
	s, err := program.ParseSchema(nil)
	require.NoError(t, err)
	assert.Empty(t, s.Names())
}

// No schema and no parameters bring the reader down.
func FuzzParseSchema(f *testing.F) {
	f.Add(parameters, "size", "3")
	f.Add(`{"$ref": "#"}`, "a", "")
	f.Fuzz(func(t *testing.T, text, name, value string) {
		s, err := program.ParseSchema([]byte(text))
		if err == nil {
			_ = s.Check(map[string]any{name: value}, s.Names())
		}
	})
}

// JOBS-DESIGN.md 16: an input names the RunNode of a token and has no token. Inputs without one, which were frozen by earlier
// versions, keep their digests.
func TestFreezeJoinToken(t *testing.T) {
	input, err := template(t).Freeze("deploy", map[string]any{"size": 3}, []run.SecretFile{{Name: "token", JoinToken: "lab-1"}})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"fromFile": "/run/orcon/secrets/token"}, input.Parameters["token"])
	text, err := json.Marshal(input.Secrets)
	require.NoError(t, err)
	assert.JSONEq(t, `[{"name": "token", "secret": "", "key": "", "joinToken": "lab-1"}]`, string(text))
	text, err = json.Marshal(secrets()[0])
	require.NoError(t, err)
	assert.JSONEq(t, `{"name": "token", "secret": "db", "key": "token"}`, string(text))
}
