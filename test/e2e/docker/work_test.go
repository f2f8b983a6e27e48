package docker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pushed is a template whose content a person pushes, with its type and its JobWorkspace.
const pushed = `
apiVersion: orcon.tengu.io/v1alpha1
kind: JobTemplateType
metadata: {name: %[1]s}
spec:
  image: %[3]q
  mode: %[2]s
  contract: v1
  parameters: {properties: {name: {type: string}}}
  actions: [{name: deploy, entrypoint: [sh, -e, main.sh]}]
---
apiVersion: orcon.tengu.io/v1alpha1
kind: JobTemplate
metadata: {name: %[1]s, namespace: shop}
spec: {build: {type: %[1]s, source: {}}}
---
apiVersion: orcon.tengu.io/v1alpha1
kind: JobWorkspace
metadata: {name: %[1]s, namespace: shop}
spec: {template: %[1]s, parameters: {name: Ann}, target: {runNode: {name: lab-1}}}
`

// greeter is that content: it changes itself, and reports a parameter and its user.
const greeter = `echo : >>main.sh
name=$(sed 's/.*"name": *"\([^"]*\)".*/\1/' "$ORCON_PARAMETERS")
echo "{\"greeting\": \"hello $name, here is $(id -un)\"}" >"$ORCON_OUTPUTS"
`

// copies has the content of a template reach its runs as in the cluster: of an image that is built, and copied by the keeper
// (JOBS.md J15 and J16).
func (f *field) copies(busybox string) {
	folder := f.t.TempDir()
	require.NoError(f.t, os.WriteFile(filepath.Join(folder, "main.sh"), []byte(greeter), 0o600))
	for mode, name := range map[string]string{"Image": "built", "AdHoc": "copied"} {
		f.apply(fmt.Sprintf(pushed, name, mode, busybox))
		f.orcon("job", "template", "push", folder, "--template", name, "-n", shop)
		require.NoError(f.t, within(f.t, func() bool { return f.value("jobtemplate/"+name, "{.status.version}") != "" }),
			f.value("jobtemplate/"+name, "{.status.conditions[*].message}"))
		f.run(name, name, "deploy")
		f.becomes("jobrun/"+name, "Succeeded")
		assert.JSONEq(f.t, `{"greeting": "hello Ann, here is orcon"}`, f.value("jobrun/"+name, "{.state.report.outputs}"))
	}
}

// planner is a template with all that a template decides of its runs, and JobWorkspaces of it.
const planner = `
apiVersion: orcon.tengu.io/v1alpha1
kind: JobTemplate
metadata: {name: settings, namespace: shop}
spec:
  image: %q
  contract: v1
  logs: {restore: Always}
  exclude: [cache/]
  rescue: [errored.tfstate]
  actions:
    - {name: plan, entrypoint: [sh, -ec, 'echo planned >"$ORCON_PLAN/plan.txt"']}
    - name: deploy
      entrypoint: [sh, -ec]
      args:
        - |
          cat "$ORCON_APPROVED_PLAN/plan.txt" >>/logs/all
          mkdir -p /state/cache; touch /state/cache/a /state/kept errored.tfstate
          echo "{\"logs\": $(wc -l </logs/all), \"site\": \"$SITE\"}" >"$ORCON_OUTPUTS"
    - {name: fail, entrypoint: [sh, -ec, exit 3]}
---
apiVersion: orcon.tengu.io/v1alpha1
kind: JobWorkspace
metadata: {name: planned, namespace: shop}
spec: {template: settings, approval: Plan, target: {runNode: {name: lab-1}}}
---
apiVersion: orcon.tengu.io/v1alpha1
kind: JobWorkspace
metadata: {name: held, namespace: shop}
spec: {template: settings, holdOnFailure: 1h, target: {runNode: {name: lab-1}}}
`

// honours has runs on the machine find the variables of the installation and the log files of the last run, leave and apply
// plans, have their state excluded and rescued, and be held where they fail, as in the cluster (JOBS.md J15 and J17,
// JOBS-DESIGN.md 14, 15 and 17).
func (f *field) honours(busybox string) {
	f.apply(fmt.Sprintf(planner, busybox))
	for number := 1; number <= 2; number++ {
		plan := fmt.Sprint("plan-", number)
		f.run("planned", plan, "plan")
		f.becomes("jobrun/"+plan, "Succeeded")
		f.orcon("job", "approve", plan, "-n", shop, "--yes")
		applies := ""
		require.NoError(f.t, within(f.t, func() bool {
			applies = f.value("jobapproval", "{.items[?(@.spec.run=='"+plan+"')].status.run}")
			return applies != ""
		}))
		f.becomes("jobrun/"+applies, "Succeeded")
		assert.JSONEq(f.t, fmt.Sprintf(`{"logs": %d, "site": "lab"}`, number), f.value("jobrun/"+applies, "{.state.report.outputs}"))
	}
	folder := filepath.Join(f.t.TempDir(), "state")
	f.orcon("job", "state", "pull", "planned", folder, "-n", shop)
	entries, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(f.t, err)
	assert.Equal(f.t, []string{filepath.Join(folder, "errored.tfstate"), filepath.Join(folder, "kept")}, entries)

	f.run("held", "held", "fail")
	require.NoError(f.t, within(f.t, func() bool {
		return strings.Contains(f.value("jobrun/held", "{.status.conditions[*].message}"), "it failed with exit code 3, and its container is held for 1h0m0s")
	}))
	uid := f.value("jobrun/held", "{.metadata.uid}")
	require.NoError(f.t, os.WriteFile(filepath.Join(f.node, "runs", uid+".1", "state", "mended"), nil, 0o600))
	f.orcon("job", "cancel", "held", "-n", shop)
	require.NoError(f.t, within(f.t, func() bool {
		return f.value("jobrun/held", "{.state.end.outcome} {.state.end.exit.code}") == "Committed 3"
	}))
}
