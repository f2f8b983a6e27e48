package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/selftest"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/conformance"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// conforms checks that Jobs carry runs out as the contract promises: nothing differs from the golden report (JOBS.md J7,
// J9, J11, J14 and J15).
func conforms(t *testing.T, w *world) {
	w.Run(t, "load", filepath.Join(repository(t), "dist", "conformance.tar"))
	own := *w
	own.t = t
	e := &kubejobs{world: &own, image: own.byDigest("localhost/orcon/conformance:dev"), folder: t.TempDir()}
	report, err := selftest.Drive(t.Context(), e)
	require.NoError(t, err)
	assert.Empty(t, conformance.Differences(conformance.Golden(), report))
}

// kubejobs carries out runs by Jobs of the cluster.
type kubejobs struct {
	*world

	image, folder string
	runs          atomic.Int64
}

// conformanceRun is a template of one run, with its JobWorkspace and its JobRun.
const conformanceRun = `
apiVersion: orcon.tengu.io/v1alpha1
kind: JobTemplate
metadata: {name: %[1]s}
spec: {image: %[2]q, contract: v1, actions: [{name: check, entrypoint: [%[3]q], args: %[4]s}]}
---
apiVersion: orcon.tengu.io/v1alpha1
kind: JobWorkspace
metadata: {name: %[1]s}
spec: {template: %[1]s, cancelGracePeriod: %[5]s, parameters: %[6]s}
---
apiVersion: orcon.tengu.io/v1alpha1
kind: JobRun
metadata: {name: %[1]s}
spec: {workspace: %[1]s, action: check}
`

// program is the one of the image.
const program = "/conformance"

// Run implements selftest.Conductor.
func (e *kubejobs) Run(_ context.Context, o selftest.Exercise) (selftest.Result, error) {
	name := fmt.Sprint("conformance-", e.runs.Add(1))
	args, err := json.Marshal(o.Args)
	if err != nil {
		return selftest.Result{}, err
	}
	manifest := fmt.Sprintf(conformanceRun, name, e.image, cmp.Or(o.Program, program), args, selftest.Grace, selftest.Parameters)
	if out, err := e.tryWith(manifest, "create", "-f", "-"); err != nil { // apply would drop null
		return selftest.Result{}, fmt.Errorf("cannot create %s: %s", name, out)
	}
	if o.Fault != "" {
		if err := e.inflict(o.Fault, name); err != nil {
			return selftest.Result{}, err
		}
	}
	e.eventually(func() string {
		if e.field("jobrun/"+name, "{.state.end.outcome}") == "" {
			return name + " does not end: " + e.field("jobrun/"+name, "{.status.conditions[*].message}")
		}
		return ""
	})
	e.t.Logf("%s: %s", name, e.field("jobrun/"+name, "{.status.conditions[*].message}"))
	return e.result(name)
}

// inflict does a fault to a run whose program is ready.
func (e *kubejobs) inflict(f selftest.Fault, name string) error {
	inside := func(args ...string) (string, error) {
		pod := e.kubectl("get", "pods", "-l", "job.orcon.tengu.io/run="+name, "-o", "name")
		return e.try(append([]string{"exec", "-c", "template", pod, "--", program}, args...)...)
	}
	var ended string
	e.eventually(func() string {
		out, err := inside("await", "ready")
		if err != nil {
			ended = e.field("jobrun/"+name, "{.state.end}")
		}
		if err != nil && ended == "" {
			return "the program of " + name + " is not ready: " + out
		}
		return ""
	})
	if ended != "" {
		return fmt.Errorf("%s ended before it was ready: %s", name, ended)
	}
	switch f {
	case selftest.Kill:
		var id string
		e.eventually(func() string { // the kubelet reports it later than the program is ready
			id = e.kubectl("get", "pods", "-l", "job.orcon.tengu.io/run="+name, "-o", "jsonpath={.items[0].status.containerStatuses[0].containerID}")
			return map[bool]string{true: "the container of " + name + " is not reported"}[id == ""]
		})
		e.ctr(e.Dir, "tasks", "kill", "--signal", "SIGKILL", strings.TrimPrefix(id, "containerd://"))
		return nil
	case selftest.CancelLate:
		if out, err := inside("release"); err != nil {
			return fmt.Errorf("cannot release %s: %s", name, out)
		}
	case selftest.Cancel:
	}
	e.kubectl("patch", "jobrun", name, "--type=merge", "-p", `{"spec":{"cancel":"Requested"}}`)
	return nil
}

// result returns how a run ended, and what it stored, as a person sees it.
func (e *kubejobs) result(name string) (selftest.Result, error) {
	var run struct {
		State struct {
			Report struct{ Outputs json.RawMessage }
			End    struct {
				Outcome string
				Exit    struct {
					Code  int
					Cause job.Cause
				}
			}
		}
	}
	err := json.Unmarshal([]byte(e.kubectl("get", "jobrun", name, "-o", "json")), &run)
	if err != nil {
		return selftest.Result{}, err
	}
	end := run.State.End
	var outputs bytes.Buffer
	if text := run.State.Report.Outputs; text != nil {
		err = json.Compact(&outputs, text)
	}
	r := selftest.Result{
		Code: end.Exit.Code, Killed: end.Exit.Cause == job.Killed, Outcome: job.Outcome(strings.ToLower(end.Outcome)),
		Outputs: outputs.String(), State: map[string]string{}, Logs: map[string]string{}, Whole: true,
	}
	if r.Outcome == job.Committed {
		var problem error
		r.State, problem = e.files(name)
		err = errors.Join(err, problem)
	}
	return r, errors.Join(err, e.logs(name, &r))
}

// files returns the files of the state of a JobWorkspace.
func (e *kubejobs) files(name string) (map[string]string, error) {
	folder := filepath.Join(e.folder, name)
	code, out := e.orcon(controlplane.Binary(e.t, "orcon"), "job", "state", "pull", name, folder)
	if code != 0 {
		return nil, fmt.Errorf("cannot pull the state of %s: %s", name, out)
	}
	all := map[string]string{}
	entries, err := os.ReadDir(folder)
	for _, one := range entries {
		text, unreadable := os.ReadFile(filepath.Join(folder, one.Name()))
		all[one.Name()], err = string(text), cmp.Or(err, unreadable)
	}
	return all, err
}

// logs reads the logs of a run: the output, whose parts are in the order in which they were stored, and the log file.
func (e *kubejobs) logs(name string, r *selftest.Result) error {
	const problem = "problem\n"
	read := func(args ...string) (string, error) {
		all := append([]string{"job", "logs", name, "--kubeconfig", e.Kubeconfig, "-n", e.namespace}, args...)
		out, err := exec.CommandContext(e.t.Context(), controlplane.Binary(e.t, "orcon"), all...).Output()
		return string(out), err
	}
	output, err := read("--follow")
	r.Logs["stdout"] = strings.Replace(output, problem, "", 1)
	if r.Logs["stdout"] != output {
		r.Logs["stderr"] = problem
	}
	r.Whole = !strings.Contains(output, "[orcon:")
	r.Logs["/logs/conformance.log"], _ = read("--file", "/logs/conformance.log") // only one run has it
	return err
}
