package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// changed copies the example's data, and replaces texts of a file; "" removes the file.
func changed(t *testing.T, file string, pairs ...string) string {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.CopyFS(folder, os.DirFS("../../deployment/examples/fleet/data")))
	at := filepath.Join(folder, file)
	if len(pairs) == 0 {
		require.NoError(t, os.Remove(at))
		return folder
	}
	text, err := os.ReadFile(at)
	require.NoError(t, err)
	after := strings.NewReplacer(pairs...).Replace(string(text))
	require.NotEqual(t, string(text), after)
	require.NoError(t, os.WriteFile(at, []byte(after), 0o600))
	return folder
}

func TestFleetCommands(t *testing.T) {
	const chart, data = "../../deployment/examples/fleet/chart", "../../deployment/examples/fleet/data"
	faster := changed(t, "integrations/github-repos.yml", "--write", "--write --fast")
	gone := changed(t, "integrations/dns-zones.yml")
	broken := changed(t, "integrations/report.yml", "cron", "crn")
	sharded := changed(t, "integrations/dns-zones.yml", "strategy: static", "strategy: per-aws-account", "    shards: 2\n", "")
	idle := changed(t, "integrations/dns-zones.yml", "strategy: static", "strategy: per-aws-account", "    shards: 2\n", "")
	unwritable := changed(t, "integrations/github-repos.yml", "extraArgs: --write", `extraArgs: "\n  --write\n"`)
	require.NoError(t, os.Remove(filepath.Join(unwritable, "integrations/dns-zones.yml")))
	account := "$schema: /aws/account-1.yml\nname: main\n"
	require.NoError(t, os.WriteFile(filepath.Join(sharded, "account.yml"), []byte(account), 0o600))
	followed := changed(t, "integrations/github-repos.yml", "managed:", "upstream: https://h/up\nmanaged:")
	production := "  parameters: {INTEGRATION_UPSTREAM_REPOS: [{repo: https://h/up, ref: main}]}\n"
	place := filepath.Join(followed, "places/production.yml")
	text, err := os.ReadFile(place)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(place, append(text, production...), 0o600))
	template := write(t, "t.yaml", "kind: Template\napiVersion: v1\nobjects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: \"${NAME}\"}}]\n"+
		"parameters: [{name: NAME, value: a}]\n")
	tests := map[string]struct {
		why  string
		args []string
		code int
		// out and errs are parts of the output; a part behind "not " must be absent.
		out, errs []string
	}{
		"Render": {
			"with the places of the data", []string{"render", chart, "--data", data, "--environment", "production"}, 0,
			[]string{"# github-repos in namespace tools-production, environment production (/integrations/github-repos.yml:11)\n---\n", "not dns-zones"}, nil,
		},
		"Builtin": {
			"the chart that orcon brings along (FLEET.md C1)",
			[]string{"render", "builtin:fleet-chart", "--data", data, "--integration", "dns-zones", "--set", "selectors=PerShard", "--parameter", "IMAGE_TAG=v7"}, 0,
			[]string{"name: qontract-reconcile-dns-zones-1", `shard: "1"`, "image: quay.io/app-sre/qontract-reconcile:v7", "kind: Service"}, nil,
		},
		"Ref": {
			"no commit is looked up (FLEET.md C2)",
			[]string{"render", "builtin:fleet-chart", "--data", followed, "--integration", "github-repos", "--environment", "production"}, 0,
			[]string{"image: quay.io/app-sre/qontract-reconcile:<main>"}, nil,
		},
		"One": {"an integration", []string{"render", chart, "--data", data, "--integration", "report"}, 0, []string{"kind: CronJob", "not Deployment"}, nil},
		"Parameter": {
			"a Template without a chart has no values", []string{"render", template, "--data", data, "--integration", "report", "--parameter", "NAME=b"}, 2, nil,
			[]string{"values are given, which plain does not support"},
		},
		"JSON": {"an object a line", []string{"render", chart, "--data", data, "-o", "json", "--integration", "report"}, 0, []string{`{"apiVersion":"batch/v1"`, "not #"}, nil},
		"Faulty": {
			"others are printed (FLEET.md D1)", []string{"render", chart, "--data", broken}, 2, []string{"name: dns-zones-1", "not CronJob"},
			[]string{`/integrations/report.yml:8: unknown field "crn": did you mean "cron"?`},
		},
		"Environment": {"one that is misspelt", []string{"render", chart, "--data", data, "--environment", "prodction"}, 0, nil, []string{`note: nothing runs in environment "prodction": did you mean "production"?`}},
		"NoData":      {"the flag is named", []string{"render", chart}, 2, nil, []string{"name the data files with --data FOLDER"}},
		"NoBase":      {"the flag is named", []string{"plan", chart, "--data", data}, 2, nil, []string{"with --base, such as --base origin/main"}},
		"Nowhere":     {"a folder that is not there", []string{"render", chart, "--data", "nowhere"}, 2, nil, []string{"cannot fetch nowhere"}},
		"Same":        {"nothing changes", []string{"plan", chart, "--data", data, "--base", data}, 0, nil, nil},
		"Changed": {
			"field by field (FLEET.md P1)", []string{"plan", chart, "--data", faster, "--base", data}, 1,
			[]string{"github-repos in namespace tools-production", "Deployment github-repos was changed\n    spec.template.spec.containers[", "not dns-zones"}, []string{"members that change: 1"},
		},
		"Idle": {
			"what no object is left for goes (FLEET.md D3)", []string{"plan", chart, "--data", idle, "--base", sharded}, 1,
			[]string{"Deployment dns-zones-main was removed"}, nil,
		},
		"Unverified": {
			"what only a cluster tells is named (FLEET.md P1)", []string{"plan", chart, "--data", gone, "--base", data}, 1, []string{"dns-zones"},
			[]string{"note: unverified without a cluster: conflicts, permissions, admission, names that pods need (--live asks one)\norcon: members that change: 1"},
		},
		"UnverifiedMarkdown": {"for a reviewer too", []string{"plan", chart, "--data", gone, "--base", data, "-o", "markdown"}, 1, []string{"\nUnverified without a cluster: conflicts, "}, nil},
		"UnverifiedMachine":  {"for a program too", []string{"plan", chart, "--data", gone, "--base", data, "-o", "json"}, 1, []string{`"unverified": [`, `not "cluster"`}, nil},
		"Roles":              {"a cluster alone knows", []string{"plan", chart, "--data", gone, "--base", data, "-o", "roles"}, 2, nil, []string{"use -o roles with --live"}},
		"NoCluster":          {"of a kubeconfig", []string{"plan", chart, "--data", data, "--live", "--kubeconfig", "nowhere"}, 2, nil, []string{"cannot read kubeconfig nowhere"}},
		"Removed":            {"what goes", []string{"plan", chart, "--data", gone, "--base", data}, 1, []string{"Deployment dns-zones-1 was removed"}, nil},
		"New":                {"what comes", []string{"plan", chart, "--data", data, "--base", gone}, 1, []string{"Deployment dns-zones-1 is new"}, nil},
		"Markdown":           {"for a pull request", []string{"plan", chart, "--data", gone, "--base", data, "-o", "markdown"}, 1, []string{"### dns-zones in namespace tools-stage", "- `Deployment dns-zones-1` was removed"}, nil},
		"Machine":            {"for a program", []string{"plan", chart, "--data", gone, "--base", data, "-o", "json"}, 1, []string{`"integration": "dns-zones"`, `"what": "was removed"`}, nil},
		"Schemas":            {"all kinds (FLEET.md P4)", []string{"schema"}, 0, []string{"account-1\ncluster-1\n", "integration-1\n"}, nil},
		"Schema":             {"one", []string{"schema", "cluster-1"}, 0, []string{`"const": "/openshift/cluster-1.yml"`, "not managed"}, nil},
		"NoSchema":           {"one that is misspelt", []string{"schema", "integration1"}, 2, nil, []string{`no kind of data file is called "integration1": did you mean "integration-1"?`}},
		"Error":              {"what is not known is no change", []string{"plan", chart, "--data", broken, "--base", data}, 2, []string{"not report"}, []string{"the data have errors"}},
		"Unwritable": {
			"an entry that the chart cannot get concerns its own member alone (FLEET.md D1)", []string{"plan", chart, "--data", unwritable, "--base", data}, 2,
			[]string{"Deployment dns-zones-1 was removed", "not github-repos"},
			[]string{"the data have errors", "cannot render github-repos in namespace tools-production", "/integrations/github-repos.yml:11"},
		},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			code, out, errs := call("", append([]string{"fleet"}, tc.args...)...)
			assert.Equal(t, tc.code, code, "%s: %s", tc.why, errs)
			for _, part := range tc.out {
				if absent, not := strings.CutPrefix(part, "not "); not {
					assert.NotContains(t, out, absent, tc.why)
				} else {
					assert.Contains(t, out, part, tc.why)
				}
			}
			if len(tc.out) == 0 {
				assert.Empty(t, out, tc.why)
			}
			for _, part := range tc.errs {
				assert.Contains(t, errs, part, tc.why)
			}
		})
	}
}

// The large example renders by both charts, and a change of one file changes what it declares (FLEET.md P5).
func TestLargeFleet(t *testing.T) {
	const large = "../../deployment/examples/fleet/large/data"
	folder := t.TempDir()
	require.NoError(t, os.CopyFS(folder, os.DirFS(large)))
	file := filepath.Join(folder, "aws", "edge.yml")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	enabled := strings.Replace(string(text), "  - terraform-resources\n", "", 1)
	require.NotEqual(t, enabled, string(text))
	require.NoError(t, os.WriteFile(file, []byte(enabled), 0o600))
	for _, chart := range []string{"../../deployment/examples/fleet/chart", "builtin:fleet-chart"} {
		code, out, errs := call("", "fleet", "plan", chart, "--data", folder, "--base", large, "--environment", "production", "--cluster", "hub-production")
		require.Equal(t, 1, code, "%s: %s", chart, errs)
		assert.Equal(t, 1, strings.Count(out, "terraform-resources-edge is new"), chart)
		assert.Equal(t, 1, strings.Count(out, " is new")+strings.Count(out, " was "), "nothing else changes: %s", out)
	}
}
