package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/test/docs"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// Runs are Jobs of the cluster that pass the Pod Security Standard "restricted": each claims by the token of its pod, gets
// the state of the one before, and leaves its own, also when it is cancelled, its pod is evicted or the controller is
// started again. One that cannot start tells why, and a JobWorkspace that is deleted destroys what it made (JOBS.md J3, J6,
// J7, J9, J10 and J18).
func TestRunsAreJobs(t *testing.T) {
	t.Parallel()
	making := makeTools(t)
	w := withJobs(t)
	image := w.byDigest("docker.io/library/busybox:stable")
	t.Run("Conformance", func(t *testing.T) { conforms(t, w) })
	t.Run("Docs", func(t *testing.T) { documented(t, w.Cluster, docs.RunCluster, "IMAGE="+image) })
	t.Run("Tools", func(t *testing.T) { tools(t, w, making) })
	t.Run("Secrets", func(t *testing.T) { secrets(t, w) })
	w.apply(fmt.Sprintf(jobTemplates, image, "docker.io/library/none@sha256:"+strings.Repeat("0", 64)))

	for n := range 2 {
		name := w.begin("count", "deploy")
		w.phase(name, "Succeeded")
		assert.Equal(t, fmt.Sprintf("Committed %d", n+1), w.field("jobworkspace/count", "{.state.lastEnd.outcome} {.state.generation.number}"))
		assert.JSONEq(t, fmt.Sprintf(`{"count":%d,"generation":%d}`, n+1, n), w.field("jobrun/"+name, "{.state.report.outputs}"))
	}
	w.persons()

	cancelled := w.begin("count", "wait")
	w.phase(cancelled, "Running")
	require.NotEmpty(t, w.field("jobworkspace/count", "{.state.lock.claimant.id}"))
	assert.Contains(t, w.Kubectl(t, "-n", "orcon-system", "get", "leases", "-o", "name"), w.field("jobrun/"+cancelled, "{.metadata.uid}"))
	w.started(cancelled)
	w.Kubectl(t, "-n", "orcon-system", "delete", "pods", "-l", "app.kubernetes.io/name=job-controller")
	w.Kubectl(t, "-n", "orcon-system", "rollout", "status", "deployment/job-controller", "--timeout=300s")
	w.cancel(cancelled)
	assert.Equal(t, "Committed 4", w.field("jobworkspace/count", "{.state.lastEnd.outcome} {.state.generation.number}"))

	w.heldOnFailure()
	evicted := w.begin("count", "wait")
	w.phase(evicted, "Running")
	w.started(evicted)
	w.kubectl("delete", "pods", "-l", "job.orcon.tengu.io/run="+evicted, "--wait=false")
	w.phase(evicted, "Failed")
	assert.Equal(t, "Committed 5", w.field("jobworkspace/count", "{.state.lastEnd.outcome} {.state.generation.number}"))

	stuck := w.begin("none", "deploy")
	w.hindered(stuck, "ImagePull")
	w.kubectl("create", "quota", "none", "--hard=pods=0")
	refused := w.begin("count", "deploy")
	w.hindered(refused, "FailedCreate: ", "exceeded quota: none")
	for _, name := range []string{stuck, refused} {
		w.cancel(name)
		assert.Equal(t, "None", w.field("jobrun/"+name, "{.state.end.outcome}"))
	}
	w.kubectl("delete", "quota", "none")

	w.adopts()
	destroys := "count-" + w.field("jobworkspace/count", "{.metadata.uid}")[:6]
	w.kubectl("delete", "jobworkspace", "count", "--timeout="+patience.String())
	assert.Contains(t, strings.Fields(w.kubectl("get", "events", "--field-selector=involvedObject.kind=JobRun,reason=Succeeded",
		"-o", "jsonpath={.items[*].involvedObject.name}")), destroys)
}

// persons use the command orcon: they follow a run, read its log once its pod is gone, and look at the state. Others may not
// (JOBS.md J11 and JOBS-DESIGN.md 13).
func (w *world) persons() {
	w.t.Helper()
	orcon := controlplane.Binary(w.t, "orcon")
	w.aggregated()
	code, out := w.orcon(orcon, "job", "run", "count", "--action", "deploy", "--follow")
	assert.Zero(w.t, code)
	assert.Contains(w.t, out, "run 3\n")
	w.eventually(func() string { return w.kubectl("get", "jobs", "-o", "name") })
	name := w.field("jobworkspace/count", "{.state.lastEnd.run.name}")
	code, out = w.orcon(orcon, "job", "logs", name)
	assert.Zero(w.t, code)
	assert.Equal(w.t, "run 3\n", out)
	code, out = w.orcon(orcon, "job", "logs", name, "--file", "/logs/a")
	assert.Zero(w.t, code)
	assert.Equal(w.t, "file 1\nfile 2\nfile 3\n", out)
	_, out = w.orcon(orcon, "job", "runs", "count", "--past")
	assert.Contains(w.t, out, name)
	_, out = w.orcon(orcon, "job", "state", "show", "count")
	assert.Contains(w.t, out, "generation 3")
	_, err := w.try("get", "--as=stranger", "--raw", people.Path(w.namespace, people.Runs, name, people.Log))
	require.ErrorContains(w.t, err, "exit status 1")
}

// heldOnFailure has the container of a run that fails kept: a person mends the state in it, and that is captured (JOBS-DESIGN.md 17).
func (w *world) heldOnFailure() {
	w.t.Helper()
	w.apply("apiVersion: orcon.tengu.io/v1alpha1\nkind: JobWorkspace\nmetadata: {name: held}\nspec: {template: count, holdOnFailure: 1h}\n")
	held := w.begin("held", "fail")
	w.hindered(held, "it failed with exit code 3, and its container is held for 1h0m0s")
	w.kubectl("exec", "-c", "template", w.kubectl("get", "pods", "-l", "job.orcon.tengu.io/run="+held, "-o", "name"), "--", "touch", "/state/mended")
	w.cancel(held)
	assert.Equal(w.t, "Committed 3", w.field("jobrun/"+held, "{.state.end.outcome} {.state.end.exit.code}"))
}

// adopts has a JobWorkspace that is made anew take over the state that the one before left, which is encrypted by the key of
// the controller (JOBS-DESIGN.md 9 and 12, JOBS.md J14 and J18).
func (w *world) adopts() {
	w.t.Helper()
	const database = "apiVersion: orcon.tengu.io/v1alpha1\nkind: JobWorkspace\nmetadata: {name: database}\nspec: {template: count}\n"
	w.apply(database)
	w.phase(w.begin("database", "deploy"), "Succeeded")
	w.kubectl("delete", "jobworkspace", "database", "--timeout="+patience.String())
	w.apply(database)
	w.eventually(func() string {
		if now := w.field("jobworkspace/database", "{.status.phase}"); now != "StoreAhead" {
			return "it is " + now
		}
		return ""
	})
	code, out := w.orcon(controlplane.Binary(w.t, "orcon"), "job", "state", "adopt", "database", "--because", "the namespace was deleted by mistake", "--yes")
	assert.Zero(w.t, code, out)
	run := w.begin("database", "deploy")
	w.phase(run, "Succeeded")
	assert.Contains(w.t, w.field("jobrun/"+run, "{.state.report.outputs}"), `"count":2`)
	keys := w.Kubectl(w.t, "-n", "orcon-system", "get", "secret", "job-controller-keys", "-o", "jsonpath={.data.keys\\.txt}")
	assert.NotEmpty(w.t, keys)
}

// jobTemplates are a template that counts its runs in its state, one whose image is nowhere, and their JobWorkspaces.
const jobTemplates = `
apiVersion: orcon.tengu.io/v1alpha1
kind: JobTemplate
metadata: {name: count}
spec:
  image: %s
  contract: v1
  logs: {restore: Always}
  actions:
    - name: deploy
      entrypoint: [sh, -ec]
      args:
        - |
          n=$(($(cat "$ORCON_STATE/count" 2>/dev/null || echo 0) + 1))
          echo "$n" >"$ORCON_STATE/count"
          echo "run $n"
          echo "{\"count\": $n, \"generation\": $ORCON_GENERATION}" >"$ORCON_OUTPUTS"
          touch a "$HOME/a" /tmp/a; echo "file $n" >>/logs/a
    - name: destroy
      entrypoint: [rm, /state/count]
    - {name: fail, entrypoint: [sh, -c, exit 3]}
    - name: wait
      entrypoint: [sh, -ec]
      args:
        - |
          trap 'date >"$ORCON_STATE/stopped"; exit 3' TERM
          echo "$ORCON_RUN" >"$ORCON_STATE/started"
          while true; do sleep 1; done
---
apiVersion: orcon.tengu.io/v1alpha1
kind: JobTemplate
metadata: {name: none}
spec:
  image: %s
  contract: v1
  actions:
    - {name: deploy, entrypoint: [sh]}
---
apiVersion: orcon.tengu.io/v1alpha1
kind: JobWorkspace
metadata: {name: count}
spec: {template: count, cancelGracePeriod: 20s, deletionPolicy: Destroy}
---
apiVersion: orcon.tengu.io/v1alpha1
kind: JobWorkspace
metadata: {name: none}
spec: {template: none}
`

// withJobs returns a namespace that enforces "restricted", in a cluster of the test's own with the controller of runs.
func withJobs(t *testing.T, flags ...string) *world {
	t.Helper()
	c := ownOrcon(t, flags...)
	for _, name := range []string{"job-controller", "job-runner"} {
		c.Run(t, "load", filepath.Join(repository(t), "dist", name+".tar"))
	}
	w := worldWith(t, c, map[string]string{"pod-security.kubernetes.io/enforce": "restricted"})
	folder := t.TempDir()
	require.NoError(t, os.Chmod(folder, 0o777)) // the user of the pod is another one
	w.apply("apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: states}\nspec:\n  capacity: {storage: 10Gi}\n" +
		"  accessModes: [ReadWriteOnce]\n  hostPath: {path: " + folder + "}\n")
	system := *w
	system.namespace = "orcon-system"
	code, out := system.orcon(controlplane.Binary(t, "orcon"), "install", "builtin:job-controller", "--name", "orcon-jobs", "--yes")
	require.Zero(t, code, out)
	return w
}

// byDigest gives an image of the node its name by digest, and returns that.
func (w *world) byDigest(image string) string {
	w.t.Helper()
	name, _, _ := strings.Cut(image, ":")
	for n := range len(w.Nodes) {
		node := filepath.Join(w.Dir, map[bool]string{true: fmt.Sprintf("n%d", n+1)}[n > 0])
		lines := strings.Split(strings.TrimSpace(w.ctr(node, "images", "ls", "name=="+image)), "\n")
		require.Len(w.t, lines, 2)
		name, _, _ = strings.Cut(name, "@")
		name += "@" + strings.Fields(lines[1])[2]
		w.ctr(node, "images", "tag", "--force", image, name)
	}
	return name
}

// ctr calls the engine of the node that has its socket in a folder, and returns its output.
func (w *world) ctr(node string, args ...string) string {
	w.t.Helper()
	all := append([]string{"-a", filepath.Join(node, "containerd.sock"), "-n", "k8s.io"}, args...)
	out, err := exec.CommandContext(w.t.Context(), "ctr", all...).CombinedOutput()
	require.NoError(w.t, err, string(out))
	return string(out)
}

// aggregated waits until the API server reaches the people's API, which it tries again some seconds after a failure.
func (w *world) aggregated() {
	w.t.Helper()
	w.eventually(func() string {
		out, err := w.try("get", "--raw", "/apis/jobs.orcon.tengu.io/v1alpha1")
		if err != nil {
			return out
		}
		return ""
	})
}

// begin makes a JobRun and returns its name.
func (w *world) begin(workspace, action string) string {
	w.t.Helper()
	out, err := w.tryWith(fmt.Sprintf("apiVersion: orcon.tengu.io/v1alpha1\nkind: JobRun\nmetadata: {generateName: %[1]s-}\n"+
		"spec: {workspace: %[1]s, action: %[2]s}\n", workspace, action), "create", "-f", "-", "-o", "jsonpath={.metadata.name}")
	require.NoError(w.t, err, out)
	return out
}

// cancel cancels a JobRun, and waits until it is.
func (w *world) cancel(name string) {
	w.t.Helper()
	w.kubectl("patch", "jobrun", name, "--type=merge", "-p", `{"spec":{"cancel":"Requested"}}`)
	w.phase(name, "Cancelled")
}

// hindered waits until a JobRun shows why it does not start.
func (w *world) hindered(name string, why ...string) {
	w.t.Helper()
	w.eventually(func() string {
		message := w.field("jobrun/"+name, "{.status.conditions[*].message}")
		for _, part := range why {
			if !strings.Contains(message, part) {
				return "its message is " + message
			}
		}
		return ""
	})
}

// field returns a field of an object.
func (w *world) field(object, path string) string {
	w.t.Helper()
	value, err := w.Field(w.t.Context(), w.namespace, object, path)
	require.NoError(w.t, err)
	return value
}

// phase waits until a JobRun has a phase.
func (w *world) phase(name, phase string) {
	w.t.Helper()
	w.eventually(func() string {
		if now := w.field("jobrun/"+name, "{.status.phase}"); now != phase {
			return "it is " + now + " and not " + phase + ": " + w.field("jobrun/"+name, "{.status.conditions[*].message}")
		}
		return ""
	})
}

// started waits until the program of a JobRun runs.
func (w *world) started(name string) {
	w.t.Helper()
	w.eventually(func() string {
		out, err := w.try("exec", "-c", "template", w.kubectl("get", "pods", "-l", "job.orcon.tengu.io/run="+name, "-o", "name"), "--", "cat", "/state/started")
		if err != nil || !strings.Contains(out, name) {
			return "its program has not started: " + out
		}
		return ""
	})
}
