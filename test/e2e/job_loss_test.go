package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// Runs whose container is killed, whose store is down and whose owners are removed lose no state, and show what they wait
// for (JOBS.md J9 and J18, JOBS-DESIGN.md 6 and 12).
func TestRunsLoseNothing(t *testing.T) {
	t.Parallel()
	w := withJobs(t)
	t.Run("Chaos", func(t *testing.T) { chaosOnPods(t, w) })
	t.Run("Losses", func(t *testing.T) { w.of(t).losses() })
}

// losses has single parts fail, and looks at each.
func (w *world) losses() {
	t := w.t
	w.lineages()
	w.keeps("killed", "full", "away", "evil")
	runs := w.holds("killed", "full", "away")

	w.killContainer(runs["killed"])
	w.hindered(runs["killed"], "it was killed from outside, or for lack of memory", "its state is committed")
	next := w.begin("killed", "deploy")
	w.hindered(next, "generation 2 may be incomplete", "`orcon job state accept "+w.namespace+"/killed --because TEXT`")
	w.job("state", "accept", "killed", "--because", "it is complete", "--yes")
	w.phase(next, "Succeeded")
	assert.Equal(t, "0 1 2", w.lineage("killed"))

	incoming := filepath.Join(w.store(), ".incoming")
	require.NoError(t, os.Chmod(incoming, 0o500))
	w.kubectl("patch", "jobrun", runs["full"], "--type=merge", "-p", `{"spec":{"cancel":"Requested"}}`)
	w.hindered(runs["full"], "its state waits to be stored: cannot store the state", "permission denied")
	require.NoError(t, os.Chmod(incoming, 0o700))
	w.phase(runs["full"], "Cancelled")
	assert.Equal(t, "0 1 stopped", w.lineage("full"))

	w.Kubectl(t, "-n", "orcon-system", "scale", "deployment/job-controller", "--replicas=0")
	w.Kubectl(t, "-n", "orcon-system", "wait", "--for=delete", "pods", "-l", "app.kubernetes.io/name=job-controller", "--timeout="+patience.String())
	pod := w.kubectl("get", "pods", "-l", "job.orcon.tengu.io/run="+runs["away"], "-o", "name")
	w.kubectl("delete", pod, "--wait=false")
	w.eventually(func() string {
		if out, _ := w.try("exec", "-c", "template", pod, "--", "cat", "/state/log"); strings.TrimSpace(out) != "0 1 stopped" {
			return "its program goes on: " + out
		}
		return ""
	})
	w.Kubectl(t, "-n", "orcon-system", "scale", "deployment/job-controller", "--replicas=1")
	w.phase(runs["away"], "Failed")
	w.aggregated()
	assert.Equal(t, "0 1 stopped", w.lineage("away"))

	evil := w.begin("evil", "escape")
	w.hindered(evil, "its process has ended (exit code 0)", `"x": it links to "/etc/passwd", outside of the state`)
	w.job("unlock", "evil", "--because", "a bad program", "--yes")
	w.ownersGo()
}

// ownersGo removes the namespace, the definition and the controller of JobWorkspaces: nothing is destroyed.
func (w *world) ownersGo() {
	t := w.t
	other := *w
	other.namespace += "-gone"
	other.makeNamespace(nil)
	other.lineages()
	other.keeps("gone")
	other.kubectl("patch", "jobworkspace", "gone", "--type=merge", "-p", `{"spec":{"deletionPolicy":"Destroy"}}`)
	other.holds("gone")
	gone := other.field("jobworkspace/gone", "{.metadata.uid}")
	w.Kubectl(t, "delete", "namespace", other.namespace, "--timeout="+patience.String())
	assert.Equal(t, 2, w.generations(gone), "its run was stopped and committed, and none destroyed it")

	stays := w.field("jobworkspace/full", "{.metadata.uid}")
	out, err := w.takeOut("--end")
	require.Error(t, err)
	assert.Contains(t, out, "the states of 4 JobWorkspaces would be deleted with Orcon's namespace")
	definition := "jobworkspaces.orcon.tengu.io"
	w.Kubectl(t, "annotate", "crd", definition, "orcon.tengu.io/leave=keep")
	w.Kubectl(t, "delete", "crd", definition, "--timeout="+patience.String())
	assert.Equal(t, 2, w.generations(stays))

	out, err = w.takeOut()
	require.NoError(t, err, out)
	w.Kubectl(t, "create", "namespace", "later")
	w.Kubectl(t, "delete", "namespace", "later", "--timeout="+patience.String())
	assert.Equal(t, 2, w.generations(stays))
}

// takeOut takes Orcon out of the cluster.
func (w *world) takeOut(flags ...string) (string, error) {
	w.t.Helper()
	args := append([]string{"leave", "--yes", "--kubeconfig", w.Kubeconfig}, flags...)
	out, err := exec.CommandContext(w.t.Context(), controlplane.Binary(w.t, "orcon"), args...).CombinedOutput()
	return string(out), err
}

// store returns the folder in which the controller has its states.
func (w *world) store() string {
	w.t.Helper()
	return w.field("persistentvolume/states", "{.spec.hostPath.path}")
}

// generations counts the generations that the store holds of a JobWorkspace.
func (w *world) generations(uid string) int {
	w.t.Helper()
	found, err := filepath.Glob(filepath.Join(w.store(), uid, "*", "generation-*"))
	require.NoError(w.t, err)
	return len(found)
}

// killContainer sends SIGKILL to the first process of the template's container, with which the kernel kills all others at
// once, as without memory.
func (w *world) killContainer(run string) {
	w.t.Helper()
	container := w.kubectl("get", "pods", "-l", "job.orcon.tengu.io/run="+run, "-o",
		`jsonpath={.items[0].status.containerStatuses[?(@.name=="template")].containerID}`)
	pids := processesOf(strings.TrimPrefix(container, "containerd://"))
	require.NotEmpty(w.t, pids, "no process of container %s runs", container)
	require.NoError(w.t, syscall.Kill(pids[0], syscall.SIGKILL))
}

// processesOf returns the PIDs of a container's processes, that of the first one first.
func processesOf(container string) []int {
	if container == "" {
		return nil
	}
	var pids []int
	files, _ := filepath.Glob("/proc/[0-9]*/cgroup")
	for _, file := range files {
		cgroups, _ := os.ReadFile(file) // it may have ended
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil || !strings.Contains(string(cgroups), container) {
			continue
		}
		status, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "status"))
		if regexp.MustCompile(`(?m)^NSpid:.*\t1$`).Match(status) {
			pids = slices.Insert(pids, 0, pid)
		} else {
			pids = append(pids, pid)
		}
	}
	return pids
}
