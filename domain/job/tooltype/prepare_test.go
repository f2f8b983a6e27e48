package tooltype_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/tooltype"
)

//nolint:gochecknoglobals // a flag
var update = flag.Bool("update", false, "write the golden files")

// text returns a preparation as a text.
func text(p tooltype.Preparation) string {
	var out strings.Builder
	for _, f := range p.Files {
		fmt.Fprintf(&out, "-- %s --\n%s", f.Name, f.Content)
	}
	fmt.Fprintln(&out, "-- environment --")
	for _, v := range p.Environment {
		fmt.Fprintln(&out, v)
	}
	for _, s := range p.Sensitive {
		fmt.Fprintf(&out, "%s from %s\n", s.Variable, s.Path)
	}
	return out.String()
}

// JOBS.md J15: parameters of every type reach the tool as values, and never as expressions.
func TestPrepare(t *testing.T) {
	const parameters = `{"region": "eu-west", "count": 12345678901234567890, "ratio": 0.10, "on": true, "none": null, "tags": ["a", "${b}", "%{c}"],
		"disk": {"size": 10, "name": "<{{ lookup('pipe', 'id') }}>"}, "empty": "", "password": {"fromFile": "/run/orcon/secrets/password"},
		"file": {"fromFile": "/etc/passwd"}}`
	for label, in := range map[string]tooltype.Input{
		"backend": {Parameters: parameters, Secrets: "/run/orcon/secrets", Backend: true},
		"plain":   {Parameters: parameters, Secrets: "/run/orcon/secrets"},
		"none":    {Backend: true},
	} {
		for _, kind := range tooltype.Types() {
			t.Run(string(kind)+"-"+label, func(t *testing.T) {
				p, err := kind.Prepare(in)
				require.NoError(t, err)
				golden := filepath.Join("testdata", fmt.Sprintf("%s-%s.txt", kind, label))
				if *update {
					require.NoError(t, os.WriteFile(golden, []byte(text(p)), 0o600))
				}
				want, err := os.ReadFile(golden)
				require.NoError(t, err)
				assert.Equal(t, string(want), text(p))
			})
		}
	}
	p, err := tooltype.Plain.Prepare(tooltype.Input{Parameters: parameters, Backend: true})
	require.NoError(t, err)
	assert.Empty(t, p)
}

// An error names the parameter and the cure.
func TestRefused(t *testing.T) {
	for label, tc := range map[string]struct {
		kind             tooltype.Type
		parameters, says string
	}{
		"NoObject": {tooltype.OpenTofu, `[]`, `not a JSON object: write {"NAME": VALUE}`},
		"Null":     {tooltype.Ansible, `null`, `not a JSON object`},
		"Name":     {tooltype.OpenTofu, `{"a b": 1}`, `parameter "a b" cannot be a variable of opentofu: begin with a letter`},
		"Digit":    {tooltype.OpenTofu, `{"1": 1}`, `parameter "1"`},
		"Hyphen":   {tooltype.Ansible, `{"a-b": 1}`, `parameter "a-b" cannot be a variable of ansible`},
		"Reserved": {tooltype.Ansible, `{"a": [{"b": {"__ansible_vault": "x"}}]}`, `parameter "a": member "__ansible_vault" means something else to Ansible: rename it`},
	} {
		t.Run(label, func(t *testing.T) {
			_, err := tc.kind.Prepare(tooltype.Input{Parameters: tc.parameters})
			require.ErrorContains(t, err, tc.says)
		})
	}
	_, err := tooltype.OpenTofu.Prepare(tooltype.Input{Parameters: `{"a-b": 1}`})
	require.NoError(t, err, "OpenTofu has such names")
}

// A run of OpenTofu that plans leaves its plan where Orcon finds it, and no other run does.
func TestPlan(t *testing.T) {
	for _, folder := range []string{"", "/state/.orcon-plan"} {
		p, err := tooltype.OpenTofu.Prepare(tooltype.Input{Plan: folder})
		require.NoError(t, err)
		assert.Equal(t, folder != "", slices.Contains(p.Environment, "TF_CLI_ARGS_plan=-out=/state/.orcon-plan/plan"), p.Environment)
	}
}

// Only a file of the run's own secrets is one.
func TestSecrets(t *testing.T) {
	for text, want := range map[string]int{
		`{"fromFile": "/s/a"}`: 1, `{"fromFile": "/s/../a"}`: 0, `{"fromFile": "/s/.."}`: 0, `{"fromFile": "/s/"}`: 0, `{"fromFile": "/sa"}`: 0,
		`{"fromFile": "/s/a') }}{{ lookup('pipe', 'id"}`: 0,
		`{"fromFile": "/s/a", "x": 1}`:                   0, `{"fromFile": 1}`: 0, `"/s/a"`: 0,
	} {
		p, err := tooltype.OpenTofu.Prepare(tooltype.Input{Parameters: `{"p": ` + text + `}`, Secrets: "/s"})
		require.NoError(t, err)
		assert.Len(t, p.Sensitive, want, text)
		assert.Equal(t, want == 0, strings.Contains(p.Files[0].Content, `"p"`), text)
		p, err = tooltype.Ansible.Prepare(tooltype.Input{Parameters: `{"p": ` + text + `}`, Secrets: "/s"})
		require.NoError(t, err)
		const lookup = "{{ lookup('ansible.builtin.file', '/s/a', rstrip=false) }}"
		assert.Equal(t, want == 1, strings.Contains(p.Files[0].Content, lookup), "JOBS.md J14: %s", text)
		assert.Equal(t, want == 1, strings.Contains(p.Files[0].Content, `: "{{`), "JOBS.md J15: a path is no expression: %s", text)
	}
}

// A word that is misspelt is no silent Plain.
func TestParse(t *testing.T) {
	for _, kind := range append(tooltype.Types(), tooltype.Plain) {
		got, err := tooltype.Parse(string(kind))
		require.NoError(t, err)
		assert.Equal(t, kind, got)
	}
	_, err := tooltype.Parse("opentufu")
	require.ErrorContains(t, err, `did you mean "opentofu"?`)
	_, err = tooltype.Parse("x")
	require.ErrorContains(t, err, "use opentofu or ansible, or none")
	assert.Contains(t, tooltype.OpenTofu.Exclude(), ".terraform/")
	assert.Equal(t, []string{"errored.tfstate"}, tooltype.OpenTofu.Rescue())
	assert.Empty(t, tooltype.Plain.Exclude())
	assert.Empty(t, tooltype.Plain.Rescue())
}

// FuzzPrepare takes any text: what is written has the same values, apart from secrets and marks.
func FuzzPrepare(f *testing.F) {
	f.Add(`{"a": ["{{ x }}", 1.50, null], "b": {"c": "${d}"}}`)
	f.Add(`{"p": {"fromFile": "/s/a"}}`)
	f.Add(`{`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, kind := range tooltype.Types() {
			p, err := kind.Prepare(tooltype.Input{Parameters: text})
			if err != nil {
				continue
			}
			var want, got map[string]any
			require.NoError(t, json.Unmarshal([]byte(p.Files[0].Content), &got))
			if strings.TrimSpace(text) == "" || json.Unmarshal([]byte(text), &want) != nil {
				continue
			}
			assert.Len(t, got, len(want))
			if kind == tooltype.OpenTofu {
				assert.Equal(t, want, got)
			}
		}
	})
}
