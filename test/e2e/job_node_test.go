package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// Runs end with their nodes, and their states do not (JOBS.md J6, J9 and J10, JOBS-DESIGN.md 4, 5 and 20). A node that is
// drained commits; one that is cut off or dies leaves exclusive runs to a person, whose choice the next run begins with, and
// idempotent ones to time. A program that comes back is stopped, and what it left is an orphan.
func TestRunsWhoseNodeGoes(t *testing.T) {
	t.Parallel()
	w := withJobs(t, "--nodes", "2")
	w.lineages()
	w.on("orcon-node-2")

	w.keeps("drained")
	drained := w.holds("drained")["drained"]
	w.Kubectl(t, "drain", "orcon-node-2", "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout="+patience.String())
	w.phase(drained, "Failed")
	w.on("orcon-node")
	assert.Equal(t, "0 1 stopped 2", w.goesOn("drained"), "the next run is on the other node, and has what the drained one left")

	w.on("orcon-node-2")
	verbs := map[string][]string{
		"generation": {"--accept", "generation"}, "checkpoint": {"--accept", "checkpoint"}, "retry": {"--retry"}, "discard": {"--discard"},
	}
	names := append(slices.Collect(maps.Keys(verbs)), "again")
	w.keeps(names...)
	lost := w.holds(names...)
	w.Run(t, "exec", "--", "ip", "link", "set", "n2", "down")
	w.on("orcon-node")
	for name, verb := range verbs {
		w.standing(name, "NeedsRecovery")
		assert.Equal(t, "Lost", w.field("jobrun/"+lost[name], "{.status.phase}"))
		next := w.begin(name, "deploy")
		w.hindered(next, "needs a decision: `orcon job unlock "+w.namespace+"/"+name)
		w.job(append([]string{"unlock", name, "--because", "its node is off", "--yes"}, verb...)...)
		if name == "retry" {
			w.phase(lost[name], "Running")
			w.cancel(lost[name])
		}
		w.phase(next, "Succeeded")
	}
	assert.Equal(t, "0 1", w.lineage("generation"))
	assert.Equal(t, "0 1 2", w.lineage("checkpoint"))
	assert.Equal(t, "0 1 stopped 2", w.lineage("retry"))
	assert.Equal(t, "0 1", w.lineage("discard"))
	w.phase(w.begin("again", "deploy"), "Succeeded")
	assert.Equal(t, "0 1", w.lineage("again"), "its lock is released by itself")

	w.Run(t, "exec", "--", "ip", "link", "set", "n2", "up")
	for name := range lost {
		w.eventually(func() string {
			if orphans := w.field("jobworkspace/"+name, "{.state.orphans[*].exit.code}"); !strings.Contains(orphans, "3") {
				return "no orphan of JobWorkspace " + name + " is what its stopped program left: " + orphans
			}
			return ""
		})
	}
	w.eventually(func() string {
		return w.kubectl("get", "pods", "-o", "name", "--field-selector=spec.nodeName=orcon-node-2")
	})

	w.on("orcon-node-2")
	w.keeps("killed")
	w.holds("killed")
	require.NoError(t, syscall.Kill(w.Nodes["orcon-node-2"], syscall.SIGKILL))
	w.on("orcon-node")
	w.standing("killed", "NeedsRecovery")
	w.job("unlock", "killed", "--because", "its node is dead", "--yes", "--accept", "checkpoint")
	assert.Equal(t, "0 1 2", w.goesOn("killed"))
}

// lineages makes the templates of states that list their runs.
func (w *world) lineages() {
	w.t.Helper()
	image := w.byDigest("docker.io/library/busybox:stable")
	w.apply(fmt.Sprintf(lineageTemplate, "exclusive", image, "Exclusive") + fmt.Sprintf(lineageTemplate, "idempotent", image, "Idempotent"))
}

// on has the scheduler use one node alone.
func (w *world) on(node string) {
	w.t.Helper()
	for name := range w.Nodes {
		w.Kubectl(w.t, map[bool]string{true: "uncordon", false: "cordon"}[name == node], name)
	}
}

// keeps makes JobWorkspaces of which each has a generation.
func (w *world) keeps(names ...string) {
	w.t.Helper()
	runs := map[string]string{}
	for _, name := range names {
		template := map[bool]string{true: "idempotent", false: "exclusive"}[name == "again"]
		w.apply(fmt.Sprintf("apiVersion: orcon.tengu.io/v1alpha1\nkind: JobWorkspace\nmetadata: {name: %s}\n"+
			"spec: {template: %s, lostAfter: 30s, cancelGracePeriod: 10s}\n", name, template))
		runs[name] = w.begin(name, "deploy")
	}
	for _, run := range runs {
		w.phase(run, "Succeeded")
	}
}

// holds begins a run that goes on, and returns its name once it has a checkpoint.
func (w *world) holds(names ...string) map[string]string {
	w.t.Helper()
	runs := map[string]string{}
	for _, name := range names {
		runs[name] = w.begin(name, "wait")
	}
	for _, run := range runs {
		w.phase(run, "Running")
		w.started(run)
	}
	return runs
}

// goesOn has a JobWorkspace deploy once more, and returns the state after that.
func (w *world) goesOn(name string) string {
	w.t.Helper()
	w.phase(w.begin(name, "deploy"), "Succeeded")
	return w.lineage(name)
}

// standing waits until a JobWorkspace has a phase.
func (w *world) standing(name, phase string) {
	w.t.Helper()
	w.eventually(func() string {
		if now := w.field("jobworkspace/"+name, "{.status.phase}"); now != phase {
			return "JobWorkspace " + name + " is " + now + " and not " + phase
		}
		return ""
	})
}

// job runs a command of orcon job that succeeds.
func (w *world) job(args ...string) string {
	w.t.Helper()
	code, out := w.orcon(controlplane.Binary(w.t, "orcon"), append([]string{"job"}, args...)...)
	require.Zero(w.t, code, out)
	return out
}

// lineage returns what the current state of a JobWorkspace lists.
func (w *world) lineage(name string) string {
	w.t.Helper()
	folder := filepath.Join(w.t.TempDir(), "state")
	w.job("state", "pull", name, folder)
	log, err := os.ReadFile(filepath.Join(folder, "log"))
	require.NoError(w.t, err)
	return strings.TrimSpace(string(log))
}

// lineageTemplate has states that list the generations from which runs began, and what stopped them.
const lineageTemplate = `
apiVersion: orcon.tengu.io/v1alpha1
kind: JobTemplate
metadata: {name: %[1]s}
spec:
  image: %[2]s
  contract: v1
  safety: %[3]s
  actions:
    - name: deploy
      entrypoint: [sh, -ec]
      args: ['printf "%%s " $ORCON_GENERATION >>"$ORCON_STATE/log"']
    - name: escape
      entrypoint: [ln, -s, /etc/passwd, /state/x]
    - name: destroy
      entrypoint: [rm, /state/log]
    - name: wait
      entrypoint: [sh, -ec]
      args:
        - |
          printf '%%s ' $ORCON_GENERATION >>"$ORCON_STATE/log"
          wget -q -O- --post-data={} "$TF_HTTP_ADDRESS"
          trap 'printf "stopped " >>"$ORCON_STATE/log"; exit 3' TERM
          echo "$ORCON_RUN" >"$ORCON_STATE/started"
          while true; do sleep 1; done
---
`
