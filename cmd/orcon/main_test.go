package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"
)

// call runs one command line.
func call(in string, args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = run(context.Background(), append([]string{"orcon"}, args...), strings.NewReader(in), &o, &e)
	return code, o.String(), e.String()
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

const shop = `apply shop.yaml
relations
> 1 web:pg db:pg
-- shop.yaml --
Service db: {provides: pg, externalName: db.example.org}
Deployment web: {consumes: pg, relations: db}
`

func TestSim(t *testing.T) {
	right := write(t, "right.txtar", shop)
	wrong := write(t, "wrong.txtar", strings.Replace(shop, "> 1", "> 2", 1))
	tests := map[string]struct {
		why  string
		args []string
		code int
		// out and errs are parts of what is printed.
		out, errs string
	}{
		"Right":   {"it goes as expected", []string{"sim", right}, 0, "ok   " + right, ""},
		"Trace":   {"all that happens", []string{"sim", "--trace", right}, 0, "controller: relate web:pg and db:pg as 1", ""},
		"Wrong":   {"what was expected, what came, and what happened before", []string{"sim", right, wrong}, 1, "FAIL " + wrong, wrong + ":2: relations\n  expected:\n    2 web:pg db:pg\n  came:\n    1 web:pg db:pg\n  before:\n"},
		"Unread":  {"a file that is not there", []string{"sim", right, "nothing.txtar"}, 2, "ok   " + right, "nothing.txtar"},
		"Unknown": {"a step that nobody knows", []string{"sim", write(t, "odd.txtar", "aply shop.yaml\n")}, 2, "", "did you mean: apply FILE?"},
		"Steps":   {"which steps there are", []string{"sim", "--steps"}, 0, "UNIT hears nothing", ""},
		"Nothing": {"no file", []string{"sim"}, 2, "", "name a scenario"},
		"Help":    {"help shows an example", []string{"sim", "--help"}, 0, "orcon sim shop.txtar", ""},
		"Root":    {"the groups of commands, and the exit codes", []string{"--help"}, 0, "130 interrupted", ""},
		"NoWord":  {"without a command, the help", nil, 0, "Relations:", ""},
		"Version": {"the version of the program", []string{"version"}, 0, "orcon development\n", ""},
		"Flag":    {"as a flag too", []string{"--version"}, 0, "orcon development\n", ""},
		"NoVerb":  {"the nearest command, and where to look", []string{"simm"}, 2, "", "orcon: unknown command \"simm\" (did you mean sim?): see orcon --help\n"},
		"NoFlag":  {"the help of that command", []string{"sim", "--tracee"}, 2, "", "unknown flag: --tracee (did you mean --trace?): see orcon sim --help"},
		"Format":  {"the formats that there are", []string{"render", ".", "-o", "xml"}, 2, "", "yaml or json"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			code, out, errs := call("", tc.args...)
			assert.Equal(t, tc.code, code, tc.why)
			assert.Contains(t, out, tc.out, tc.why)
			assert.Contains(t, errs, tc.errs, tc.why)
		})
	}
}

// The example in the help is a scenario that goes as it says.
func TestHelpShowsAScenario(t *testing.T) {
	_, help, _ := call("", "sim", "--help")
	_, after, found := strings.Cut(help, "like Juju's hooks. They are written in a part of sh: tools, variables, $( ), [ ], if, for, && and ||.\n")
	require.True(t, found)
	example, _, found := strings.Cut(after, "\nComplete Kubernetes manifests")
	require.True(t, found)
	example = strings.ReplaceAll(example, "\n    ", "\n")
	code, _, errs := call("", "sim", write(t, "help.txtar", example))
	assert.Equal(t, 0, code, errs)
}

// What inject prints is what the webhook makes of the same manifest, by the goldens
// of the package that both ask; uninject takes it out again (INJECTION.md I15).
func TestInjectIsTheWebhooks(t *testing.T) {
	files, err := filepath.Glob("../../domain/injection/testdata/inject/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	trust := write(t, "ca.crt", "PEM\n")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			require.NoError(t, err)
			parts := map[string]string{}
			for _, f := range archive.Files {
				parts[f.Name] = string(f.Data)
			}
			code, out, errs := call(parts["manifest.yaml"], "inject", "-f", "-", "--trust", trust, "--controller-ip", "10.96.0.7",
				"--config", write(t, "tenguconfig.yaml", parts["tenguconfig.yaml"]))
			require.Equal(t, 0, code, errs)
			same(t, parts["injected.yaml"], out)
			for line := range strings.Lines(parts["told"]) {
				assert.Contains(t, errs, strings.TrimSpace(line))
			}
			code, back, errs := call(out, "uninject", "-f", "-")
			require.Equal(t, 0, code, errs)
			same(t, parts["manifest.yaml"], back)
		})
	}
}

func same(t *testing.T, want, got string) {
	t.Helper()
	a, err := yaml.YAMLToJSON([]byte(want))
	require.NoError(t, err)
	b, err := yaml.YAMLToJSON([]byte(got))
	require.NoError(t, err)
	assert.JSONEq(t, string(a), string(b))
}

// Several documents, and what is not concerned stays as it was written
// (INJECTION.md I15, I2, SAFETY.md I22).
func TestInjectLeavesTheRest(t *testing.T) {
	const service = "# kept as it is\napiVersion: v1\nkind: Service\nmetadata: {name: front, annotations: {tengu.io/consumes: db, tengu.io/relations: db}}\nspec: {selector: {app: web}}\n"
	const pods = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: app}]}}}\n"
	code, out, errs := call(service+"---\n"+pods, "inject", "-f", "-")
	require.Equal(t, 0, code, errs)
	assert.True(t, strings.HasPrefix(out, service+"---\n"), out)
	assert.Contains(t, out, "name: relation-agent", "the Service of the same file declares for the pods that it selects")

	list := "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(service+pods[:0]), "\n", "\n  ") + "\n- " + strings.ReplaceAll(strings.TrimSpace(pods), "\n", "\n  ") + "\n"
	code, out, errs = call(list, "inject", "-f", "-")
	require.Equal(t, 0, code, errs)
	assert.Contains(t, out, "name: relation-agent")
	assert.Contains(t, out, "kind: List")
}

// inject warns by the built-in interfaces as the webhook does by those of its cluster.
func TestInjectWarnsOfInterfaces(t *testing.T) {
	code, _, errs := call("kind: Pod\nmetadata: {name: web, annotations: {tengu.io/consumes: 'a:htpp, b:http@7'}}\nspec: {containers: [{name: a}]}\n",
		"inject", "-f", "-")
	require.Equal(t, 0, code, errs)
	assert.Contains(t, errs, `Pod/web: warning: tengu.io/consumes: "htpp": no such interface is known, so its data is not checked; did you mean a:http?`)
	assert.Contains(t, errs, `Pod/web: warning: tengu.io/consumes: "http@7": no such version is known, so its data is not checked; write b:http@1`)
}

func TestInjectRefuses(t *testing.T) {
	tests := map[string]struct {
		why, in, errs string
		code          int
	}{
		"Declaration": {"what the webhook would refuse", "kind: Pod\nmetadata: {name: web, annotations: {tengu.io/consumes: DB}}\nspec: {containers: [{name: a}]}\n", "Pod/web would be refused", 1},
		"NotYAML":     {"no manifest", "a: [", "cannot read document 1", 2},
		"NoObject":    {"a list is no object", "- a\n", "cannot read", 2},
		"Undeclared":  {"said, and printed as it is", "kind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: a}]}\n", "Pod/web: not injected", 0},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			code, out, errs := call(tc.in, "inject", "-f", "-")
			assert.Equal(t, tc.code, code, tc.why)
			assert.Contains(t, errs, tc.errs, tc.why)
			if code == 0 {
				assert.Equal(t, tc.in, out, tc.why)
			} else {
				assert.Empty(t, out, "half of a manifest is not to be applied")
			}
		})
	}
	code, _, errs := call("", "inject", "-f", "nothing.yaml")
	assert.Equal(t, 2, code)
	assert.Contains(t, errs, "nothing.yaml")
	code, _, errs = call("", "inject")
	assert.Equal(t, 2, code)
	assert.Contains(t, errs, "orcon inject -f FILE")
}
