package template_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/program"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/template"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/tooltype"
)

const (
	base    = "registry.example.org/tofu@sha256:4bc453b53cb3d914b45f4b250294236adba2c0e09ff6f03793949e7e39fd4cc1"
	content = "sha256:aaaabbbbccccddddeeeeffff0000111122223333444455556666777788889999"
)

// schema reads a schema that is right.
func schema(t require.TestingT, text string) template.Signature {
	s, err := template.ParseSchema([]byte(text))
	require.NoError(t, err)
	return s
}

// parent returns a type with each sort of parameter.
func parent(t require.TestingT) template.Type {
	return template.Type{
		Name: "tofu", Tool: tooltype.OpenTofu, Image: base, Contract: run.Contract, Safety: job.Idempotent,
		Level: template.Level{
			Parameters: schema(t, `{"type": "object", "required": ["region", "token", "zone"], "$defs": {"zone": {"enum": ["a", "b"]}}, "properties": {
				"region": {"type": "string"}, "size": {"type": "integer", "minimum": 1, "default": 2},
				"zone": {"$ref": "#/$defs/zone"}, "token": {"type": "string", "sensitive": true}}}`),
			Outputs: schema(t, `{"properties": {"address": {"type": "string"}}}`),
			Actions: map[string]run.Action{"deploy": {Entrypoint: []string{"/bin/tofu"}, Args: []string{"apply"}}},
			Env:     map[string]string{"TF_CLI_ARGS": "-no-color"}, Files: run.Files{Exclude: []string{".terraform/"}},
		},
	}
}

func child(t require.TestingT) template.Design {
	return template.Design{
		Name:  "web",
		Fixed: map[string]any{"region": "eu"}, Defaults: map[string]any{"zone": "b"}, Safety: job.Exclusive,
		Level: template.Level{
			Parameters: schema(t, `{"required": ["host"], "properties": {"host": {"type": "string"}}}`),
			Outputs:    schema(t, `{"properties": {"url": {}}}`),
			Actions:    map[string]run.Action{"check": {Entrypoint: []string{"/bin/tofu"}, Args: []string{"plan"}}},
			Env:        map[string]string{"DEBUG": "1"}, Files: run.Files{Exclude: []string{"cache/", ".terraform/"}, RestoreLogs: true},
		},
	}
}

// JOBS.md J16: a version has what both levels give, and a workspace gives what is left.
func TestFreeze(t *testing.T) {
	v, err := template.Freeze(parent(t), child(t), content)
	require.NoError(t, err)
	assert.JSONEq(t, `{"type": "object", "additionalProperties": false, "required": ["host", "token"], "$defs": {"zone": {"enum": ["a", "b"]}},
		"properties": {"host": {"type": "string"}, "size": {"type": "integer", "minimum": 1, "default": 2},
		"zone": {"$ref": "#/$defs/zone", "default": "b"}, "token": {"type": "string", "sensitive": true}}}`, v.Parameters.String())
	assert.Equal(t, []string{"address", "url"}, v.Outputs.Names())
	assert.Equal(t, map[string]any{"region": "eu"}, v.Fixed)
	assert.Len(t, v.Actions, 2)
	assert.Equal(t, map[string]string{"TF_CLI_ARGS": "-no-color", "DEBUG": "1"}, v.Env)
	assert.Equal(t, []string{".terraform/", "cache/"}, v.Exclude)
	assert.Equal(t, job.Exclusive, v.Safety)
	assert.Equal(t, "/work", v.Path)
	name, err := v.Name()
	require.NoError(t, err)
	assert.Regexp(t, `^web-[0-9a-f]{10}$`, name)

	runnable, err := v.Runnable(name, base)
	require.NoError(t, err)
	input, err := runnable.Freeze("deploy", map[string]any{"host": "a.example"}, []run.SecretFile{{Name: "token", Secret: "web", Key: "token"}})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{
		"region": "eu", "zone": "b", "size": json.Number("2"), "host": "a.example",
		"token": map[string]any{"fromFile": "/run/orcon/secrets/token"},
	}, input.Parameters, "fixed, of the template, of the type, given, sensitive")
	_, err = runnable.Freeze("deploy", map[string]any{"host": "a", "region": "us"}, nil)
	require.ErrorContains(t, err, `parameter "region" is fixed by the template: remove it`)
	_, err = runnable.Freeze("deploy", map[string]any{"host": "a"}, nil)
	require.ErrorContains(t, err, "token", "a sensitive parameter is required like any other")
}

// JOBS.md J16: a run of an ad-hoc version has its content beside the image of the type; that of another one has its own
// image.
func TestAdHoc(t *testing.T) {
	p := parent(t)
	inImage, err := template.Freeze(p, child(t), content)
	require.NoError(t, err)
	p.Mode = template.AdHoc
	adHoc, err := template.Freeze(p, child(t), content)
	require.NoError(t, err)
	for want, v := range map[string]template.Version{"": inImage, content: adHoc} {
		runnable, err := v.Runnable("web", base)
		require.NoError(t, err)
		input, err := runnable.Freeze("deploy", map[string]any{"host": "a"}, []run.SecretFile{{Name: "token", Secret: "web", Key: "token"}})
		require.NoError(t, err)
		assert.Equal(t, want, input.Content)
	}
	one, err := inImage.Name()
	require.NoError(t, err)
	other, err := adHoc.Name()
	require.NoError(t, err)
	assert.NotEqual(t, one, other)
	text, err := json.Marshal(inImage)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "mode", "digests of versions that there are stay")
}

// What does not fit is refused when the template is frozen, with its place and the cure.
func TestFreezeRefuses(t *testing.T) {
	tests := map[string]struct {
		why, want string
		change    func(p *template.Type, c *template.Design)
	}{
		"Unknown": {why: "a slip", want: `fixed: type tofu has no parameter "regoin" (did you mean "region"?)`,
			change: func(_ *template.Type, c *template.Design) { c.Fixed = map[string]any{"regoin": "eu"} }},
		"Both": {why: "which counts?", want: "defaults: region is fixed too: remove one",
			change: func(_ *template.Type, c *template.Design) { c.Defaults["region"] = "us" }},
		"Misfit": {why: "each run would be refused", want: `defaults: parameter "zone" does not fit`,
			change: func(_ *template.Type, c *template.Design) { c.Defaults["zone"] = "c" }},
		"Secret": {why: "viewers read templates", want: "fixed: token is sensitive",
			change: func(_ *template.Type, c *template.Design) { c.Fixed["token"] = "x" }},
		"Own": {why: "which counts?", want: "parameters: type tofu has size too: rename that of the template",
			change: func(_ *template.Type, c *template.Design) { c.Parameters = schema(t, `{"properties": {"size": {}}}`) }},
		"OwnFixed": {why: "it looks free", want: "parameters: type tofu has region too",
			change: func(_ *template.Type, c *template.Design) {
				c.Parameters = schema(t, `{"properties": {"region": {}}}`)
			}},
		"Shared": {why: "one would be taken for the other", want: "parameters.$defs: type tofu has zone too",
			change: func(_ *template.Type, c *template.Design) { c.Parameters = schema(t, `{"$defs": {"zone": {}}}`) }},
		"Output": {why: "one would be lost", want: "outputs: type tofu has address too",
			change: func(_ *template.Type, c *template.Design) { c.Outputs = schema(t, `{"properties": {"address": {}}}`) }},
		"Action": {why: "the type says what deploy is", want: "actions: type tofu has deploy too",
			change: func(_ *template.Type, c *template.Design) {
				c.Actions["deploy"] = run.Action{Entrypoint: []string{"/x"}}
			}},
		"Env": {why: "as an action", want: "env: type tofu has TF_CLI_ARGS too",
			change: func(_ *template.Type, c *template.Design) { c.Env["TF_CLI_ARGS"] = "" }},
		"Reserved": {why: "the contract sets it", want: "env: variable ORCON_RUN belongs to Orcon",
			change: func(_ *template.Type, c *template.Design) { c.Env["ORCON_RUN"] = "" }},
		"Looser": {why: "a type that may overlap at no time", want: "safety: readonly permits more than idempotent, which type tofu has",
			change: func(_ *template.Type, c *template.Design) { c.Safety = job.ReadOnly }},
		"Digest": {why: "the image could change", want: "names no digest",
			change: func(p *template.Type, _ *template.Design) { p.Image = "tofu:1" }},
		"Variable": {why: "Ansible has no such variables", want: `parameter "own-host" cannot be a variable of ansible`,
			change: func(p *template.Type, c *template.Design) {
				p.Tool, c.Parameters = tooltype.Ansible, schema(t, `{"properties": {"own-host": {}}}`)
			}},
		"AdHoc": {why: "it is copied to /work", want: "path: type tofu is ad hoc, and content is copied to /work: remove path /srv",
			change: func(p *template.Type, _ *template.Design) { p.Mode, p.Path = template.AdHoc, "/srv" }},
		"Dangling": {why: "what is fixed is no longer there", want: "cannot use the schema of parameters",
			change: func(p *template.Type, _ *template.Design) {
				p.Parameters = schema(t, `{"properties": {"region": {"type": "string"}, "zone": {"$ref": "#/properties/region"}, "token": {}}}`)
			}},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			p, c := parent(t), child(t)
			tc.change(&p, &c)
			_, err := template.Freeze(p, c, content)
			require.ErrorContains(t, err, tc.want, tc.why)
			assert.ErrorContains(t, err, "cannot freeze template web of type tofu: ", tc.why)
		})
	}
}

func TestParseSchema(t *testing.T) {
	none, err := template.ParseSchema([]byte(" \n"))
	require.NoError(t, err)
	assert.JSONEq(t, `{"type": "object", "additionalProperties": false}`, none.String())
	tests := map[string]struct{ why, text, want string }{
		"Syntax":     {why: "no JSON", text: `{`, want: "cannot read the schema"},
		"Bool":       {why: "it has no names", text: `true`, want: "it is not an object"},
		"Beside":     {why: "it could contradict the other level", text: `{"allOf": [{"required": ["a"]}]}`, want: `keyword "allOf" beside properties`},
		"Slip":       {why: "a slip is no keyword", text: `{"propertys": {}}`, want: `(did you mean "properties"?)`},
		"Open":       {why: "a template cannot know them", text: `{"additionalProperties": true}`, want: "additionalProperties is true"},
		"Type":       {why: "values have names", text: `{"type": "array"}`, want: "its type is array"},
		"Property":   {why: "nothing can be added to it", text: `{"properties": {"a": true}}`, want: "properties.a is not an object"},
		"Name":       {why: "it is a file of secrets", text: `{"properties": {"../a": {}}}`, want: `cannot use the name "../a"`},
		"Required":   {why: "no value could fit", text: `{"required": ["a"], "properties": {"aa": {}}}`, want: `required: "a" is not in properties`},
		"Sensitive":  {why: "a text is neither", text: `{"properties": {"a": {"sensitive": "yes"}}}`, want: "properties.a.sensitive is yes: write true or false"},
		"Readable":   {why: "viewers read defaults", text: `{"properties": {"a": {"sensitive": true, "default": "x"}}}`, want: "properties.a is sensitive and has a default"},
		"Default":    {why: "each run would be refused", text: `{"properties": {"a": {"type": "integer", "default": "x"}}}`, want: `properties.a.default: parameter "a" does not fit`},
		"Part":       {why: "it would be read by viewers", text: `{"properties": {"a": {"properties": {"b": {"sensitive": true}}}}}`, want: "properties.a.properties has a part that is sensitive"},
		"Reference":  {why: "as a part", text: `{"$defs": {"x": {"sensitive": true}}}`, want: "$defs has a part that is sensitive"},
		"Additional": {why: "two faults, two lines", text: `{"required": ["b"], "properties": {"a": {"sensitive": 1}}}`, want: "\n"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			_, err := template.ParseSchema([]byte(tc.text))
			assert.ErrorContains(t, err, tc.want, tc.why)
		})
	}
}

// A version tells everything that changes a run apart, and nothing else.
func TestDigest(t *testing.T) {
	digest := func(change func(p *template.Type, c *template.Design), content string) string {
		p, c := parent(t), child(t)
		change(&p, &c)
		v, err := template.Freeze(p, c, content)
		require.NoError(t, err)
		d, err := v.Digest()
		require.NoError(t, err)
		return d
	}
	same := func(*template.Type, *template.Design) {}
	first := digest(same, content)
	assert.Equal(t, first, digest(same, content))
	for what, change := range map[string]func(p *template.Type, c *template.Design){
		"image":  func(p *template.Type, _ *template.Design) { p.Image = strings.ReplaceAll(base, "4", "5") },
		"value":  func(_ *template.Type, c *template.Design) { c.Fixed["region"] = "us" },
		"env":    func(_ *template.Type, c *template.Design) { c.Env["DEBUG"] = "2" },
		"output": func(_ *template.Type, c *template.Design) { c.Outputs = template.Signature{} },
		"path":   func(p *template.Type, _ *template.Design) { p.Path = "/content" },
	} {
		assert.NotEqual(t, first, digest(change, content), what)
	}
	assert.NotEqual(t, first, digest(same, strings.ReplaceAll(content, "a", "b")), "content")
}

// A template narrows its type: what a version accepts, the type accepts too, and each of the type's parameters is either
// fixed or left to the workspace.
func TestNarrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, value := parent(t), rapid.SampledFrom([]any{"a", "b", "c", json.Number("1"), json.Number("0"), true, nil})
		c := template.Design{Name: "web", Fixed: map[string]any{}, Defaults: map[string]any{}}
		for _, name := range p.Parameters.Names() {
			switch rapid.IntRange(0, 3).Draw(t, name) {
			case 0:
				c.Fixed[name] = value.Draw(t, "fixed")
			case 1:
				c.Defaults[name] = value.Draw(t, "default")
			}
		}
		v, err := template.Freeze(p, c, content)
		if err != nil {
			return
		}
		given := map[string]any{}
		for _, name := range p.Parameters.Names() {
			_, fixed := v.Fixed[name]
			require.NotEqual(t, fixed, strings.Contains(strings.Join(v.Parameters.Names(), " "), name))
			if one := value.Draw(t, "given"); one != nil && !fixed {
				given[name] = one
			}
		}
		runnable, err := v.Runnable("web", base)
		require.NoError(t, err)
		input, err := runnable.Freeze("deploy", given, nil)
		if err != nil {
			return
		}
		above, err := program.ParseSchema([]byte(p.Parameters.String()))
		require.NoError(t, err)
		require.NoError(t, above.Check(input.Parameters, []string{"token"}))
	})
}

func TestDockerfile(t *testing.T) {
	p := parent(t)
	p.Path = "/content"
	v, err := template.Freeze(p, child(t), content)
	require.NoError(t, err)
	assert.Equal(t, "# Template web of type tofu; content "+content+".\nFROM "+base+"\nCOPY . /content/\nWORKDIR /work\nUSER 65532:65532\n", v.Dockerfile())
}

// FuzzParseSchema takes any text: a schema that is accepted is the same when it is written and read again, and joins with
// none.
func FuzzParseSchema(f *testing.F) {
	f.Add([]byte(`{"required": ["a"], "properties": {"a": {"type": "string"}, "b": {"default": 1.50}}}`))
	f.Add([]byte(`{"$defs": {"x": {"sensitive": true}}, "properties": {"a": {"$ref": "#/$defs/x"}}}`))
	f.Add([]byte(`{"properties": {"a": {"sensitive": true}}, "additionalProperties": false}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := template.ParseSchema(text)
		if err != nil {
			return
		}
		again, err := template.ParseSchema([]byte(s.String()))
		require.NoError(t, err)
		require.Equal(t, s.String(), again.String())
		require.Equal(t, s.Sensitive(), again.Sensitive())
		p := parent(t)
		p.Parameters, p.Tool = s, tooltype.Plain
		v, err := template.Freeze(p, template.Design{Name: "web"}, content)
		require.NoError(t, err)
		require.Equal(t, s.String(), v.Parameters.String())
	})
}
