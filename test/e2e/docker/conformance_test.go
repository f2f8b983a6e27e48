package docker_test

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

	"github.com/moby/moby/client"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/selftest"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/conformance"
	"gitlab.ilabt.imec.be/tengu/orcon/test/conformance/api"
	"gitlab.ilabt.imec.be/tengu/orcon/test/docker"
)

// conforms checks that a RunNode carries runs out as the contract promises: nothing differs from the golden report (JOBS.md
// J7, J9, J11, J13 and J15).
func (f *field) conforms(image string) {
	t := f.t
	report, err := selftest.Drive(t.Context(), &remote{field: f, image: image})
	require.NoError(t, err)
	assert.Empty(t, conformance.Differences(conformance.Golden(), report))
}

// remote carries out runs by the RunNode, and reads what came back as a person does.
type remote struct {
	*field

	image string
	runs  atomic.Int64
}

// conformanceRun is a template of one run, with its JobWorkspace and its JobRun.
const conformanceRun = `
apiVersion: orcon.tengu.io/v1alpha1
kind: JobTemplate
metadata: {name: %[1]s, namespace: shop}
spec: {image: %[2]q, contract: v1, actions: [{name: check, entrypoint: [%[3]q], args: %[4]s}]}
---
apiVersion: orcon.tengu.io/v1alpha1
kind: JobWorkspace
metadata: {name: %[1]s, namespace: shop}
spec: {template: %[1]s, cancelGracePeriod: %[5]s, parameters: %[6]s, target: {runNode: {labels: {site: lab}}}}
---
apiVersion: orcon.tengu.io/v1alpha1
kind: JobRun
metadata: {name: %[1]s, namespace: shop}
spec: {workspace: %[1]s, action: check}
`

// Run implements selftest.Conductor.
func (r *remote) Run(ctx context.Context, o selftest.Exercise) (selftest.Result, error) {
	name := fmt.Sprint("conformance-", r.runs.Add(1))
	args, err := json.Marshal(o.Args)
	if err != nil {
		return selftest.Result{}, err
	}
	file := filepath.Join(r.folder, name+".yaml")
	manifest := fmt.Sprintf(conformanceRun, name, r.image, cmp.Or(o.Program, program), args, selftest.Grace, selftest.Parameters)
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		return selftest.Result{}, err
	}
	if out, err := r.Try("create", "-f", file); err != nil { // apply would drop null
		return selftest.Result{}, fmt.Errorf("cannot create %s: %s", name, out)
	}
	ctx, end := context.WithTimeout(ctx, patience)
	defer end()
	if err := r.inflict(ctx, o.Fault, name); err != nil {
		return selftest.Result{}, err
	}
	err = api.Wait(ctx, func() bool { return r.value("jobrun/"+name, "{.state.end.outcome}") != "" })
	if err != nil {
		return selftest.Result{}, fmt.Errorf("%s does not end: %w: %s", name, err, r.value("jobrun/"+name, "{.status.conditions[*].message}"))
	}
	return r.result(name)
}

// inflict does a fault to a run whose program is ready.
func (r *remote) inflict(ctx context.Context, f selftest.Fault, name string) error {
	if f == "" {
		return nil
	}
	uid := r.value("jobrun/"+name, "{.metadata.uid}")
	state := filepath.Join(r.node, "runs", uid+".1", "state")
	err := api.Wait(ctx, func() bool {
		_, err := os.Stat(filepath.Join(state, "ready"))
		return err == nil
	})
	if err != nil {
		return fmt.Errorf("the program of %s is not ready: %w", name, err)
	}
	switch f {
	case selftest.Kill:
		_, err := engine(r.t).ContainerKill(ctx, "orcon-"+uid+"-1", client.ContainerKillOptions{Signal: "SIGKILL"})
		return err
	case selftest.CancelLate:
		err = os.WriteFile(filepath.Join(state, selftest.Released), nil, 0o600)
	case selftest.Cancel:
	}
	out, failed := r.try("job", "cancel", name, "-n", shop)
	if failed != nil {
		failed = fmt.Errorf("cannot cancel %s: %s", name, out)
	}
	return errors.Join(err, failed)
}

// result returns how a run ended, and what it stored.
func (r *remote) result(name string) (selftest.Result, error) {
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
	text, err := r.Try("-n", shop, "get", "jobrun", name, "-o", "json")
	if err == nil {
		err = json.Unmarshal([]byte(text), &run)
	}
	if err != nil {
		return selftest.Result{}, err
	}
	end := run.State.End
	var outputs bytes.Buffer
	if text := run.State.Report.Outputs; text != nil {
		err = json.Compact(&outputs, text)
	}
	found := selftest.Result{
		Code: end.Exit.Code, Killed: end.Exit.Cause == job.Killed, Outcome: job.Outcome(strings.ToLower(end.Outcome)),
		Outputs: outputs.String(), State: map[string]string{}, Logs: map[string]string{}, Whole: true,
	}
	if found.Outcome == job.Committed {
		err = errors.Join(err, r.files(name, found.State))
	}
	return found, errors.Join(err, r.logs(name, &found))
}

// files reads the files of the state of a JobWorkspace.
func (r *remote) files(name string, into map[string]string) error {
	folder := filepath.Join(r.folder, name)
	if out, err := r.try("job", "state", "pull", name, folder, "-n", shop); err != nil {
		return fmt.Errorf("cannot pull the state of %s: %s", name, out)
	}
	entries, err := os.ReadDir(folder)
	for _, one := range entries {
		text, unreadable := os.ReadFile(filepath.Join(folder, one.Name()))
		into[one.Name()], err = string(text), cmp.Or(err, unreadable)
	}
	return err
}

// logs reads the logs of a run: the output, whose parts are in the order in which they were stored, and the log file.
func (r *remote) logs(name string, into *selftest.Result) error {
	const problem = "problem\n"
	read := func(args ...string) (string, error) {
		c := exec.CommandContext(r.t.Context(), filepath.Join(docker.Folder(), orconName), append([]string{"job", "logs", name, "-n", shop}, args...)...)
		c.Env = append(os.Environ(), "KUBECONFIG="+r.Kubeconfig)
		out, err := c.Output()
		return string(out), err
	}
	output, err := read("--follow")
	into.Logs["stdout"] = strings.Replace(output, problem, "", 1)
	if into.Logs["stdout"] != output {
		into.Logs["stderr"] = problem
	}
	into.Whole = !strings.Contains(output, "[orcon:")
	into.Logs["/logs/conformance.log"], _ = read("--file", "/logs/conformance.log") // only one run has it
	return err
}
